// Names come from locations, roles from attributes, the user's patterns or the root of the name.
#include "passes/Import/ProgramArguments.h"
#include "dialects/StableHLO/StableHLO.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace p3d::import {

std::string dottedName(StringRef keyPath) {
  std::string name;
  auto append = [&](StringRef part) {
    if (!name.empty())
      name += '.';
    name += part;
  };
  while (!keyPath.empty()) {
    size_t end;
    if (keyPath.consume_front("['") || keyPath.consume_front("[\"")) {
      end = std::min(keyPath.find("']"), keyPath.find("\"]"));
      append(keyPath.substr(0, end));
      keyPath = end == StringRef::npos ? "" : keyPath.drop_front(end + 2);
    } else if (keyPath.consume_front("[")) {
      end = keyPath.find(']');
      append(keyPath.substr(0, end));
      keyPath = end == StringRef::npos ? "" : keyPath.drop_front(end + 1);
    } else {
      keyPath.consume_front(".");
      end = keyPath.find_first_of("[");
      append(keyPath.substr(0, end));
      keyPath = end == StringRef::npos ? "" : keyPath.drop_front(end);
    }
  }
  return name;
}

StringRef nameOf(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = nameOf(part); !name.empty())
        return name;
  return {};
}

namespace {

/// The call by which a plugin of torch-xla marks an argument, directly or behind a reshape.
stablehlo::CustomCallOp markOf(Value value) {
  for (Operation *user : value.getUsers()) {
    auto call = dyn_cast<stablehlo::CustomCallOp>(user);
    if (call && call.getCallTargetName() == "tt.mark_argument")
      return call;
    if (isa<stablehlo::ReshapeOp>(user))
      if (auto behind = markOf(user->getResult(0)))
        return behind;
  }
  return {};
}

StringRef frontendAttribute(func::FuncOp function, unsigned index, StringRef key) {
  constexpr StringLiteral kAttributes = "mhlo.frontend_attributes";
  auto attributes = function.getArgAttrOfType<DictionaryAttr>(index, kAttributes);
  if (auto mark = markOf(function.getArgument(index)))
    attributes = mark->getAttrOfType<DictionaryAttr>(kAttributes);
  auto value = attributes ? attributes.getAs<StringAttr>(key) : StringAttr();
  return value ? value.getValue() : StringRef();
}

std::string ownName(func::FuncOp function, unsigned index) {
  if (StringRef given = frontendAttribute(function, index, "ttir.name"); !given.empty())
    return given.str();
  return dottedName(nameOf(function.getArgument(index).getLoc()));
}

} // namespace

SmallVector<std::string> argumentNames(func::FuncOp function) {
  SmallVector<std::string> names;
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string name = ownName(function, i);
    if (name.empty() || !taken.insert(name).second)
      taken.insert(name = "arg" + std::to_string(i));
    names.push_back(name);
  }
  return names;
}

SmallVector<std::string> resultNames(func::FuncOp function) {
  SmallVector<std::string> names;
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    std::string name = i == 0 ? "loss" : "";
    if (auto info = function.getResultAttrOfType<StringAttr>(i, "jax.result_info"); info && i > 0) {
      StringRef path = info.getValue();
      path.consume_front("result");
      // The first key chooses between the loss and its companions.
      if (size_t end = path.find(']'); path.starts_with("[") && end != StringRef::npos)
        path = path.drop_front(end + 1);
      name = dottedName(path);
    }
    if (name.empty() || !taken.insert(name).second)
      taken.insert(name = "metric" + std::to_string(i));
    names.push_back(name);
  }
  return names;
}

namespace {

/// The regular expression of a flag, if it is given; one that matches none of `names` is a slip of the pen.
FailureOr<std::optional<llvm::Regex>> compile(func::FuncOp function, ArrayRef<std::string> names, StringRef flag, StringRef pattern) {
  if (pattern.empty())
    return std::optional<llvm::Regex>();
  llvm::Regex regex(pattern);
  std::string error;
  if (!regex.isValid(error)) {
    function.emitError() << "--" << flag << "='" << pattern << "' is no regular expression: " << error;
    return failure();
  }
  if (!names.empty() && llvm::none_of(names, [&](StringRef name) { return regex.match(name); })) {
    function.emitError() << "--" << flag << "='" << pattern << "' matches no argument; their names are like '" << names.front() << "'";
    return failure();
  }
  return std::optional<llvm::Regex>(std::move(regex));
}

StringRef roleByAttribute(func::FuncOp function, unsigned index) {
  if (auto role = function.getArgAttrOfType<StringAttr>(index, "p3d.role"))
    return role.getValue();
  StringRef type = frontendAttribute(function, index, "ttcore.argument_type");
  return type == "parameter" ? "param" : type == "input" ? "input" : type == "constant" ? "buffer" : "";
}

StringRef roleByRoot(StringRef name) {
  StringRef root = name.split('.').first;
  return root == "params" ? "param" : root == "batch" ? "input" : "";
}

} // namespace

FailureOr<SmallVector<std::string>> argumentRoles(func::FuncOp function, ArrayRef<std::string> names,
                                                  const RolePatterns &patterns) {
  auto params = compile(function, names, "params", patterns.params), inputs = compile(function, names, "inputs", patterns.inputs),
       freeze = compile(function, names, "freeze", patterns.freeze);
  if (failed(params) || failed(inputs) || failed(freeze))
    return failure();
  SmallVector<std::string> roles;
  for (auto [i, name] : llvm::enumerate(names)) {
    std::string role = roleByAttribute(function, i).str();
    if (!role.empty() && !llvm::is_contained({"param", "frozen", "input", "buffer", "key"}, StringRef(role))) {
      emitError(function.getArgument(i).getLoc()) << "argument '" << name << "' has the role '" << role
                                                  << "'; expected param, frozen, input, buffer or key";
      return failure();
    }
    bool isParam = *params && (*params)->match(name), isInput = *inputs && (*inputs)->match(name);
    if (isParam && isInput) {
      emitError(function.getArgument(i).getLoc()) << "argument '" << name << "' matches both --params and --inputs";
      return failure();
    }
    if (role.empty())
      role = isParam ? "param" : isInput ? "input" : roleByRoot(name).str();
    if (*freeze && (*freeze)->match(name))
      role = "frozen";
    roles.push_back(role);
  }
  return roles;
}

} // namespace p3d::import
