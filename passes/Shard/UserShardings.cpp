#include "passes/Shard/UserShardings.h"
#include "dialects/StableHLO/StableHLO.h"
#include "passes/Shard/Plan.h"
#include "passes/Shard/UserAxes.h"

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

/// What an annotation says of one class.
struct Wish {
  int cls;
  bool isCut;
  int64_t priority; ///< of several the smallest decides
  unsigned dim;
  Location location;
};

class Reader {
public:
  Reader(ModuleOp module, const DimClasses &classes, dist::MeshAttr mesh) : module(module), classes(classes), axes(module, mesh), wishes(classes.size()), planned(classes.size()) {
    result.fixed.resize(classes.size());
  }

  FailureOr<UserShardings> run(StringRef plan) {
    if (failed(collect()))
      return failure();
    mapAxes();
    for (const Annotation &annotation : annotations)
      if (failed(check(annotation)) || (annotation.constraint && failed(readConstraint(annotation))))
        return failure();
    if (failed(grant()) || (!plan.empty() && failed(readPlan(plan))))
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

  void mapAxes() {
    for (const Annotation &annotation : annotations) {
      axes.note(annotation.sharding);
      for (auto [d, dim] : llvm::enumerate(annotation.sharding.getDimShardings()))
        if (isBatch(annotation.value, d))
          llvm::for_each(dim.getAxes(), [&](sdy::AxisRefAttr axis) { axes.noteBatch(axis); });
    }
    axes.decide();
    for (auto program : module.getOps<graph::ProgramOp>())
      if (!axes.empty())
        program.emitRemark() << "annotations: " << axes.describe();
  }

  bool isCut(sdy::DimensionShardingAttr dim) const { return !dim.getAxes().empty() && axes.of(dim.getAxes().front()) == dist::Axis::TP; }

  /// Whether an axis for `axis` must not shard anything of a tensor.
  bool isReplicated(sdy::TensorShardingAttr sharding, dist::Axis axis) const {
    return llvm::any_of(sharding.getReplicatedAxes(), [&](sdy::AxisRefAttr other) { return axes.of(other) == axis; });
  }

  /// Refuses what cannot be obeyed; else notes what the annotation wants.
  LogicalResult check(const Annotation &annotation) {
    Location location = annotation.value.getLoc();
    sdy::TensorShardingAttr sharding = annotation.sharding;
    if (!sharding.getUnreducedAxes().empty())
      return emitError(location) << "is annotated as unreduced over \"" << sharding.getUnreducedAxes().front().getName()
                                 << "\"; where partial sums are completed follows from the operations: leave out unreduced";
    bool staysWholeOverTp = isReplicated(sharding, dist::Axis::TP);
    for (auto [d, dim] : llvm::enumerate(sharding.getDimShardings())) {
      bool batch = isBatch(annotation.value, d);
      for (sdy::AxisRefAttr axis : dim.getAxes()) {
        if (axis.isSubAxis())
          return emitError(location) << "dimension " << d << " is sharded over a part of \"" << axis.getName() << "\"; name the whole axis, or leave the dimension open with ?";
        if (!batch && axes.of(axis) == dist::Axis::DP)
          return emitError(location) << "dimension " << d << " is sharded over \"" << axis.getName()
                                     << "\", which stands for dp; dp cuts the batch alone, and parameters are whole over it: leave the axis out of this dimension";
      }
      if (batch && isReplicated(sharding, dist::Axis::DP))
        return emitError(location) << "is annotated as replicated over an axis that stands for dp, which cuts its dimension " << d << ", the batch; leave out replicated";
      int cls = classes.classOf(annotation.value, d);
      if (cls == DimClasses::kNone || batch)
        continue;
      // What a value inside may not have, other values of its class may.
      bool cut = isCut(dim), staysWhole = !cut && (dim.getIsClosed() || staysWholeOverTp) && !annotation.isInput && !annotation.constraint;
      if (cut || staysWhole)
        wanted.push_back({cls, cut, dim.getPriority().value_or(0), unsigned(d), location});
    }
    return success();
  }

  /// Decides the classes, in the order of priorities. Where these differ, the later wish of two that contradict each other is not granted, and shown.
  LogicalResult grant() {
    llvm::stable_sort(wanted, [](const Wish &a, const Wish &b) { return a.priority < b.priority; });
    for (const Wish &wish : wanted) {
      std::optional<bool> &fixed = result.fixed[wish.cls];
      std::optional<Wish> &first = wishes[wish.cls];
      if (!fixed) {
        fixed = wish.isCut;
        first.emplace(wish);
      }
      if (*fixed == wish.isCut)
        continue;
      bool yields = first->priority < wish.priority;
      InFlightDiagnostic shown = yields ? emitRemark(wish.location) : emitError(wish.location);
      shown << "dimension " << wish.dim << " is " << (wish.isCut ? "sharded" : "closed and not sharded") << " by its annotation, but must lie as another that is "
            << (wish.isCut ? "not" : "sharded");
      if (yields)
        shown << "; that one is obeyed, its priority p" << first->priority << " comes before p" << wish.priority;
      else
        shown << "; annotate both alike, or leave one open";
      shown.attachNote(first->location) << "the other annotation";
      if (!yields)
        return failure();
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
          error.attachNote(wishes[cut.cls]->location) << "the annotation";
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
    bool isOpen = false, shardsBatch = llvm::any_of(annotations, [&](const Annotation &other) { return batchIsSharded(other); });
    for (auto [d, dim] : llvm::enumerate(annotation.sharding.getDimShardings())) {
      if (isBatch(annotation.value, d)) {
        if (dim.getAxes().empty() && dim.getIsClosed() && shardsBatch)
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
    if (tpDim >= 0 || !isOpen || isReplicated(annotation.sharding, dist::Axis::TP))
      result.constraints[op] = tpDim;
    return success();
  }

  bool batchIsSharded(const Annotation &annotation) const {
    return llvm::any_of(llvm::enumerate(annotation.sharding.getDimShardings()), [&](auto dim) { return isBatch(annotation.value, dim.index()) && !dim.value().getAxes().empty(); });
  }

  ModuleOp module;
  const DimClasses &classes;
  SmallVector<Annotation> annotations;
  UserAxes axes;
  UserShardings result;
  SmallVector<Wish> wanted;
  SmallVector<std::optional<Wish>> wishes; ///< the one that decided a class
  SmallVector<std::string> planned; ///< what the plan says of a class
};
} // namespace

FailureOr<UserShardings> p3d::shard::readUserShardings(ModuleOp module, const DimClasses &classes, dist::MeshAttr mesh, StringRef plan) {
  return Reader(module, classes, mesh).run(plan);
}
