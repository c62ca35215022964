#include "passes/Shard/UserShardings.h"
#include "dialects/StableHLO/StableHLO.h"
#include "passes/Shard/Plan.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

namespace {
/// A tensor that the user annotated: an argument, or the result of `constraint`.
struct Annotation {
  Value value;
  sdy::TensorShardingAttr sharding;
  bool isInput;
  graph::ConstrainOp constraint;
};

class Reader {
public:
  Reader(ModuleOp module, const DimClasses &classes) : module(module), classes(classes), places(classes.size()), planned(classes.size()) {
    result.fixed.resize(classes.size());
  }

  FailureOr<UserShardings> run(StringRef plan) {
    if (failed(collect()))
      return failure();
    for (const Annotation &annotation : annotations)
      noteBatchAxes(annotation);
    for (const Annotation &annotation : annotations)
      if (failed(read(annotation)) || (annotation.constraint && failed(readConstraint(annotation))))
        return failure();
    if (!plan.empty() && failed(readPlan(plan)))
      return failure();
    return std::move(result);
  }

private:
  LogicalResult collect() {
    for (auto program : module.getOps<graph::ProgramOp>())
      for (BlockArgument argument : program.getBody().getArguments()) {
        auto sharding = program.getArgAttrOfType<sdy::TensorShardingAttr>(argument.getArgNumber(), graph::kUserShardingAttr);
        auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
        if (sharding && failed(add({argument, sharding, role && role.getValue() == "input", {}})))
          return failure();
      }
    WalkResult walked = module.walk([&](graph::ConstrainOp op) {
      auto sharding = dyn_cast<sdy::TensorShardingAttr>(op.getSharding());
      if (!sharding)
        op.emitOpError() << "has " << op.getSharding() << ", expected an sdy.sharding";
      return sharding && succeeded(add({op.getResult(), sharding, false, op})) ? WalkResult::advance() : WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  LogicalResult add(Annotation annotation) {
    int64_t given = annotation.sharding.getDimShardings().size(), rank = tensorType(annotation.value).getRank();
    if (given != rank)
      return emitError(annotation.value.getLoc()) << "is annotated with a sharding of " << given << " dimensions, but has " << rank;
    annotations.push_back(annotation);
    return success();
  }

  bool isBatch(Value value, unsigned dim) const {
    return classes.batchClass() != DimClasses::kNone && classes.classOf(value, dim) == classes.batchClass();
  }

  void noteBatchAxes(const Annotation &annotation) {
    for (auto [d, dim] : llvm::enumerate(annotation.sharding.getDimShardings()))
      if (isBatch(annotation.value, d))
        for (sdy::AxisRefAttr axis : dim.getAxes())
          batchAxes.insert(axis.getName());
  }

  bool isCut(sdy::DimensionShardingAttr dim) const {
    return llvm::any_of(dim.getAxes(), [&](sdy::AxisRefAttr axis) { return !batchAxes.contains(axis.getName()); });
  }

  LogicalResult read(const Annotation &annotation) {
    for (auto [d, dim] : llvm::enumerate(annotation.sharding.getDimShardings())) {
      int cls = classes.classOf(annotation.value, d);
      if (cls == DimClasses::kNone || isBatch(annotation.value, d))
        continue;
      // What a value inside may not have, other values of its class may.
      bool cut = isCut(dim), staysWhole = !cut && dim.getIsClosed() && !annotation.isInput && !annotation.constraint;
      if (!cut && !staysWhole)
        continue;
      std::optional<bool> &fixed = result.fixed[cls];
      if (fixed && *fixed != cut) {
        InFlightDiagnostic error = emitError(annotation.value.getLoc());
        error << "dimension " << d << " is " << (cut ? "sharded" : "closed and not sharded")
              << " by its annotation, but must lie as another that is " << (cut ? "not" : "sharded")
              << "; annotate both alike, or leave one open";
        error.attachNote(*places[cls]) << "the other annotation";
        return error;
      }
      fixed = cut;
      places[cls] = annotation.value.getLoc();
    }
    return success();
  }

  LogicalResult readPlan(StringRef path) {
    FailureOr<SmallVector<PlannedCut>> cuts = readPlannedCuts(module, classes, path);
    if (failed(cuts))
      return failure();
    for (PlannedCut &cut : *cuts) {
      std::optional<bool> &fixed = result.fixed[cut.cls];
      if (fixed && *fixed != cut.isCut) {
        InFlightDiagnostic error = emitError(FileLineColLoc::get(module.getContext(), path, 1, 1));
        error << cut.what << ", but what must be cut alike is not: " << (planned[cut.cls].empty() ? "an annotation of the model" : planned[cut.cls]) << "; change both, or leave out one of them";
        if (planned[cut.cls].empty())
          error.attachNote(*places[cut.cls]) << "the annotation";
        return error;
      }
      if (!fixed)
        planned[cut.cls] = cut.what;
      fixed = cut.isCut;
    }
    return success();
  }

  LogicalResult readConstraint(const Annotation &annotation) {
    graph::ConstrainOp op = annotation.constraint;
    int tpDim = -1;
    bool isOpen = false;
    for (auto [d, dim] : llvm::enumerate(annotation.sharding.getDimShardings())) {
      if (isBatch(annotation.value, d)) {
        if (dim.getAxes().empty() && dim.getIsClosed() && !batchAxes.empty())
          return op.emitOpError() << "wants dimension " << d << ", the batch, whole on every rank, but other annotations shard it; dp always cuts the batch: "
                                  << "shard it here too, or leave it open with ?";
        continue;
      }
      isOpen |= !dim.getIsClosed();
      if (!isCut(dim))
        continue;
      if (tpDim >= 0)
        return op.emitOpError() << "shards dimensions " << tpDim << " and " << d << " of one value over the axes that stand for tp; shard one of them";
      if (classes.classOf(annotation.value, d) == DimClasses::kNone)
        return op.emitOpError() << "shards dimension " << d << ", which has size 1";
      tpDim = d;
    }
    if (tpDim >= 0 || !isOpen)
      result.constraints[op] = tpDim;
    return success();
  }

  ModuleOp module;
  const DimClasses &classes;
  SmallVector<Annotation> annotations;
  llvm::StringSet<> batchAxes;
  UserShardings result;
  SmallVector<std::optional<Location>> places;
  SmallVector<std::string> planned; ///< what the plan says of a class
};
} // namespace

FailureOr<UserShardings> p3d::shard::readUserShardings(ModuleOp module, const DimClasses &classes, StringRef plan) { return Reader(module, classes).run(plan); }
