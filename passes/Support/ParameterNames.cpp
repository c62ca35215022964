#include "passes/Support/ParameterNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace p3d;

namespace {
/// A name as texts and numbers, taking turns: "h0.w" is "h", "0", ".w".
SmallVector<StringRef> splitNumbers(StringRef name) {
  SmallVector<StringRef> parts;
  while (!name.empty()) {
    bool isNumber = parts.size() % 2;
    size_t length =
        std::min(name.size(), isNumber ? name.find_first_not_of("0123456789") : name.find_first_of("0123456789"));
    parts.push_back(name.take_front(length));
    name = name.drop_front(length);
  }
  return parts;
}

/// Operations whose result has the elements of their first operand.
bool onlyMoves(Operation *op) {
  return isa<graph::ConvertOp, graph::TransposeOp, graph::ReshapeOp, graph::BroadcastOp, graph::SliceOp,
             graph::ConstrainOp>(op);
}
} // namespace

SmallVector<std::string> p3d::generalizeNames(ArrayRef<std::string> names) {
  // Texts, and the parts of all names that have these texts: of each number the common value or "*".
  SmallVector<std::pair<std::string, SmallVector<std::string>>> alike;
  for (const std::string &name : names) {
    SmallVector<StringRef> parts = splitNumbers(name);
    std::string texts;
    for (auto [i, part] : llvm::enumerate(parts))
      texts += i % 2 ? "#" : part.str();
    auto known = llvm::find_if(alike, [&](auto &entry) { return entry.first == texts; });
    if (known == alike.end()) {
      alike.push_back({texts, SmallVector<std::string>(parts.begin(), parts.end())});
      continue;
    }
    for (size_t i = 1; i < parts.size(); i += 2)
      if (known->second[i] != parts[i])
        known->second[i] = "*";
  }
  return llvm::map_to_vector(alike, [](auto &entry) { return llvm::join(entry.second, ""); });
}

std::string p3d::joinNames(ArrayRef<std::string> names, size_t most) {
  if (names.size() > most + 1)
    return llvm::formatv("{0} and {1} more", llvm::join(names.take_front(most), ", "), names.size() - most);
  if (names.size() < 2)
    return llvm::join(names, "");
  return llvm::join(names.drop_back(), ", ") + " and " + names.back();
}

ParameterNames::ParameterNames(ModuleOp module) : symbols(module) {
  for (auto program : module.getOps<graph::ProgramOp>())
    for (auto call : program.getBody().getOps<graph::CallOp>())
      calls[symbols.lookup(call.getCallee())].push_back(call);
}

SmallVector<std::string> ParameterNames::of(Value value) const {
  SmallVector<std::string> names;
  collect(value, names);
  return generalizeNames(names);
}

void ParameterNames::collect(Value value, SmallVectorImpl<std::string> &names) const {
  if (Operation *def = value.getDefiningOp()) {
    if (onlyMoves(def))
      collect(def->getOperand(0), names);
    return;
  }
  auto argument = cast<BlockArgument>(value);
  Operation *function = argument.getOwner()->getParentOp();
  if (auto program = dyn_cast<graph::ProgramOp>(function)) {
    auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
    auto name = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr);
    if (role && role.getValue() != "input" && name)
      names.push_back(name.str());
  } else if (auto found = calls.find(function); found != calls.end()) {
    for (graph::CallOp call : found->second)
      collect(call.getInputs()[argument.getArgNumber()], names);
  }
}
