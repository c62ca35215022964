#include "passes/Shard/Plan.h"
#include "passes/Support/JsonFile.h"
#include "passes/Support/ParameterNames.h"
#include "passes/Support/Pieces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include <map>

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;
using llvm::formatv;
namespace json = llvm::json;

namespace {
/// An argument of the program that has a name.
struct Argument {
  BlockArgument value;
  std::string name;
  DenseI64ArrayAttr piece;
};

SmallVector<Argument> argumentsOf(ModuleOp module) {
  SmallVector<Argument> arguments;
  for (auto program : module.getOps<graph::ProgramOp>())
    for (BlockArgument value : program.getBody().getArguments())
      if (auto name = program.getArgAttrOfType<StringAttr>(value.getArgNumber(), graph::kNameAttr))
        arguments.push_back({value, name.str(), program.getArgAttrOfType<DenseI64ArrayAttr>(value.getArgNumber(), graph::kPieceShapeAttr)});
  return arguments;
}

/// A name with numbers in the place of each `*`.
class NamePattern {
public:
  explicit NamePattern(StringRef pattern) {
    SmallVector<StringRef> texts;
    pattern.split(texts, '*');
    first = texts.front();
    last = texts.back();
    regex = llvm::Regex("^" + llvm::join(llvm::map_range(texts, [](StringRef text) { return llvm::Regex::escape(text); }), "[0-9]+") + "$");
  }

  bool matches(StringRef name) const { return name.starts_with(first) && name.ends_with(last) && regex.match(name); }

private:
  std::string first, last; ///< of the texts between numbers; most names fail at these
  llvm::Regex regex;
};

/// Reads the cuts of a plan and says what is wrong with them.
class PlanReader {
public:
  PlanReader(ModuleOp module, const DimClasses &classes, StringRef path)
      : classes(classes), arguments(argumentsOf(module)), location(FileLineColLoc::get(module.getContext(), path, 1, 1)), path(path) {}

  FailureOr<SmallVector<PlannedCut>> run() {
    llvm::Expected<json::Object> plan = readJsonObject(path, "a plan.json as p3dc writes it");
    if (!plan)
      return fail() << llvm::toString(plan.takeError());
    if (json::Value *list = plan->get("classes"); list && failed(readClasses(*list)))
      return failure();
    if (json::Value *shardings = plan->get("sharding"); shardings && failed(readShardings(*shardings)))
      return failure();
    return std::move(cuts);
  }

private:
  InFlightDiagnostic fail() { return emitError(location); }

  LogicalResult readClasses(const json::Value &value) {
    const json::Array *list = value.getAsArray();
    if (!list)
      return fail() << "\"classes\" is no list of objects";
    for (auto [i, entry] : llvm::enumerate(*list)) {
      const json::Object *object = entry.getAsObject();
      const json::Object *dims = object ? object->getObject("dims") : nullptr;
      if (!dims || !object->get("axis"))
        return fail() << "class " << i << " has no \"dims\" and \"axis\"";
      for (auto &[key, field] : *object)
        if (key != "dims" && key != "axis" && key != "units")
          return fail() << "class " << i << ": field \"" << key.str() << "\" is unknown; expected dims, axis or units";
      for (auto &[pattern, list] : *dims)
        if (failed(readClass(i, pattern, list, *object)))
          return failure();
    }
    return success();
  }

  /// The dimensions `list` of the arguments called `pattern` are of class `number` of the plan.
  LogicalResult readClass(size_t number, StringRef pattern, const json::Value &list, const json::Object &entry) {
    std::string what = formatv("class {0}, {1}", number, pattern);
    SmallVector<const Argument *> found;
    NamePattern named(pattern);
    for (const Argument &argument : arguments)
      if (named.matches(argument.name))
        found.push_back(&argument);
    if (found.empty())
      return fail() << what << ": no argument of the model has this name";
    const json::Array *dims = list.getAsArray();
    if (!dims)
      return fail() << what << ": expected a list of dimensions";
    for (const json::Value &dim : *dims)
      for (const Argument *argument : found)
        if (failed(readDim(what, *argument, dim.getAsInteger().value_or(-1), entry)))
          return failure();
    return success();
  }

  LogicalResult readDim(const std::string &what, const Argument &argument, int64_t dim, const json::Object &entry) {
    SmallVector<int64_t> held = matchPieceDims(tensorType(argument.value).getShape(), argument.piece);
    if (dim < 0 || dim >= int64_t(held.size()))
      return fail() << what << ": " << argument.name << " has no dimension " << dim << ", but " << held.size() << " dimensions";
    int cls = held[dim] < 0 ? DimClasses::kNone : classes.classOf(argument.value, held[dim]);
    if (cls == DimClasses::kNone)
      return fail() << what << ": dimension " << dim << " of " << argument.name << " has size 1";
    if (std::optional<int64_t> units = entry.getInteger("units"); units && *units != classes.unitsOf(cls))
      return fail() << what << ": dimension " << dim << " falls into " << classes.unitsOf(cls) << " parts, not " << *units << "; that is what the model has, and no decision";
    const json::Value &axis = *entry.get("axis");
    bool isBatch = cls == classes.batchClass();
    StringRef expected = isBatch ? "dp" : "tp", named = axis.getAsString().value_or("");
    if (axis.kind() != json::Value::Null && named != expected)
      return fail() << what << ": axis " << formatv("{0}", axis).str() << " cannot cut it; expected \"" << expected << "\" or null";
    if (!isBatch)
      cuts.push_back({cls, named == "tp", formatv("{0}: dimension {1} is {2}", what, dim, named == "tp" ? "cut over tp" : "whole").str()});
    return success();
  }

  LogicalResult readShardings(const json::Value &value) {
    const json::Object *shardings = value.getAsObject();
    if (!shardings)
      return fail() << "\"sharding\" is no object of parameters";
    for (auto &[name, sharding] : *shardings) {
      auto found = llvm::make_filter_range(arguments, [&, name = StringRef(name)](const Argument &argument) { return argument.name == name; });
      if (found.empty())
        return fail() << "sharding of " << name.str() << ": no argument of the model has this name";
      for (const Argument &argument : found)
        if (failed(readSharding(argument, sharding)))
          return failure();
    }
    return success();
  }

  LogicalResult readSharding(const Argument &argument, const json::Value &value) {
    SmallVector<int64_t> held = matchPieceDims(tensorType(argument.value).getShape(), argument.piece);
    const json::Array *axes = value.getAsArray();
    if (!axes || axes->size() != held.size())
      return fail() << "sharding of " << argument.name << ": expected a list of " << held.size() << " axes, null for a dimension that is whole";
    auto isTp = [](const json::Value &axis) { return axis.getAsString() == "tp" || axis.getAsString() == "tp_major"; };
    bool isCut = llvm::any_of(*axes, isTp);
    for (auto [d, axis] : llvm::enumerate(*axes)) {
      if (axis.kind() != json::Value::Null && !isTp(axis))
        return fail() << "sharding of " << argument.name << ": axis " << formatv("{0}", axis).str() << "; expected \"tp\", \"tp_major\" or null";
      int cls = held[d] < 0 ? DimClasses::kNone : classes.classOf(argument.value, held[d]);
      if (cls == DimClasses::kNone && isTp(axis))
        return fail() << "sharding of " << argument.name << ": dimension " << d << " has size 1";
      if (classes.isSequence(cls) && isTp(axis))
        return fail() << "sharding of " << argument.name << ": dimension " << d << " is that of the sequence, which parameters have whole";
      // Beside a dimension that is cut, others of classes that are cut stay whole.
      if (cls != DimClasses::kNone && cls != classes.batchClass() && !classes.isSequence(cls) && isTp(axis) == isCut)
        cuts.push_back({cls, isCut, formatv("sharding of {0}: dimension {1} is {2}", argument.name, d, isCut ? "cut over tp" : "whole").str()});
    }
    return success();
  }

  const DimClasses &classes;
  SmallVector<Argument> arguments;
  Location location;
  StringRef path;
  SmallVector<PlannedCut> cuts;
};
} // namespace

ArrayAttr p3d::shard::describeClasses(ModuleOp module, const DimClasses &classes, ArrayRef<bool> cut, int64_t dp) {
  Builder builder(module.getContext());
  SmallVector<Argument> arguments = argumentsOf(module);
  // For each class and dimension the names, in the order of the arguments.
  llvm::MapVector<int, std::map<int64_t, std::vector<std::string>>> names;
  auto classOf = [&](const Argument &argument, int64_t held) { return held < 0 ? DimClasses::kNone : classes.classOf(argument.value, held); };
  std::vector<SmallVector<int>> classesOf; ///< of the dimensions of each argument
  for (const Argument &argument : arguments) {
    SmallVector<int> &own = classesOf.emplace_back();
    for (auto [d, held] : llvm::enumerate(matchPieceDims(tensorType(argument.value).getShape(), argument.piece)))
      if (own.push_back(classOf(argument, held)); own.back() != DimClasses::kNone)
        names[own.back()][d].push_back(argument.name);
  }
  /// Whether `pattern` says of dimension `dim` what is so.
  auto isTrue = [&](const NamePattern &pattern, size_t dim, int cls) {
    return llvm::all_of(llvm::zip_equal(arguments, classesOf), [&](auto entry) {
      auto &[argument, own] = entry;
      return !pattern.matches(argument.name) || (dim < own.size() && own[dim] == cls);
    });
  };
  SmallVector<Attribute> described;
  for (auto &[cls, byDim] : names) {
    std::map<std::string, SmallVector<int64_t>> dims;
    for (auto &[dim, found] : byDim)
      for (const std::string &text : generalizeNames(found)) {
        NamePattern pattern(text);
        for (const std::string &name : isTrue(pattern, dim, cls) ? std::vector<std::string>{text} : found)
          if (pattern.matches(name) || name == text)
            if (SmallVector<int64_t> &list = dims[name]; !llvm::is_contained(list, dim))
              list.push_back(dim);
      }
    SmallVector<NamedAttribute> entries;
    for (auto &[name, list] : dims)
      entries.push_back(builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(list)));
    StringRef axis = cls == classes.batchClass() ? (dp > 1 ? "dp" : "") : cut[cls] ? "tp" : "";
    described.push_back(builder.getDictionaryAttr({builder.getNamedAttr("axis", builder.getStringAttr(axis)), builder.getNamedAttr("dims", builder.getDictionaryAttr(entries)),
                                                   builder.getNamedAttr("units", builder.getI64IntegerAttr(classes.unitsOf(cls)))}));
  }
  return builder.getArrayAttr(described);
}

FailureOr<SmallVector<PlannedCut>> p3d::shard::readPlannedCuts(ModuleOp module, const DimClasses &classes, StringRef path) {
  return PlanReader(module, classes, path).run();
}
