#include "passes/Shard/UserShardings.h"
#include "dialects/StableHLO/StableHLO.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

namespace {
constexpr llvm::StringLiteral kUserShardingAttr = "graph.user_sharding";

/// A tensor that the user annotated.
struct Annotation {
  Value value;
  sdy::TensorShardingAttr sharding;
  bool isInput;
};

class Reader {
public:
  Reader(ModuleOp module, const DimClasses &classes)
      : module(module), classes(classes), fixed(classes.size()), places(classes.size()) {}

  FailureOr<SmallVector<std::optional<bool>>> run() {
    SmallVector<Annotation> annotations = collect();
    for (const Annotation &annotation : annotations)
      noteBatchAxes(annotation);
    for (const Annotation &annotation : annotations)
      if (failed(read(annotation)))
        return failure();
    return fixed;
  }

private:
  SmallVector<Annotation> collect() {
    SmallVector<Annotation> found;
    for (auto program : module.getOps<graph::ProgramOp>())
      for (BlockArgument argument : program.getBody().getArguments()) {
        auto sharding = program.getArgAttrOfType<sdy::TensorShardingAttr>(argument.getArgNumber(), kUserShardingAttr);
        auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
        if (sharding && int64_t(sharding.getDimShardings().size()) == tensorType(argument).getRank())
          found.push_back({argument, sharding, role && role.getValue() == "input"});
      }
    return found;
  }

  void noteBatchAxes(const Annotation &annotation) {
    for (auto [d, dim] : llvm::enumerate(annotation.sharding.getDimShardings()))
      if (classes.batchClass() != DimClasses::kNone && classes.classOf(annotation.value, d) == classes.batchClass())
        for (sdy::AxisRefAttr axis : dim.getAxes())
          batchAxes.insert(axis.getName());
  }

  LogicalResult read(const Annotation &annotation) {
    for (auto [d, dim] : llvm::enumerate(annotation.sharding.getDimShardings())) {
      int cls = classes.classOf(annotation.value, d);
      if (cls == DimClasses::kNone || cls == classes.batchClass())
        continue;
      bool cut = llvm::any_of(dim.getAxes(), [&](sdy::AxisRefAttr axis) { return !batchAxes.contains(axis.getName()); });
      bool staysWhole = !cut && dim.getIsClosed() && !annotation.isInput;
      if (!cut && !staysWhole)
        continue;
      if (fixed[cls] && *fixed[cls] != cut) {
        InFlightDiagnostic error = emitError(annotation.value.getLoc());
        error << "dimension " << d << " is " << (cut ? "sharded" : "closed and not sharded")
              << " by its annotation, but must lie as another that is " << (cut ? "not" : "sharded")
              << "; annotate both alike, or leave one open";
        error.attachNote(*places[cls]) << "the other annotation";
        return error;
      }
      fixed[cls] = cut;
      places[cls] = annotation.value.getLoc();
    }
    return success();
  }

  ModuleOp module;
  const DimClasses &classes;
  llvm::StringSet<> batchAxes;
  SmallVector<std::optional<bool>> fixed;
  SmallVector<std::optional<Location>> places;
};
} // namespace

FailureOr<SmallVector<std::optional<bool>>> p3d::shard::readUserShardings(ModuleOp module, const DimClasses &classes) {
  return Reader(module, classes).run();
}
