#include "test/mutations/Mutations.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using graph::tensorType;

namespace {
/// `value` as a tensor of `type`, somehow: dimensions cut at the end, or repeated.
Value fit(OpBuilder &builder, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  Location loc = value.getLoc();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    SmallVector<int64_t> shape(tensorType(value).getShape());
    int64_t wanted = type.getDimSize(d), copies = llvm::divideCeil(wanted, shape[d]);
    if (copies > 1) {
      shape[d] *= copies;
      value = builder.create<graph::ConcatOp>(loc, type.clone(shape), SmallVector<Value>(copies, value), d);
    }
    if (shape[d] != wanted) {
      shape[d] = wanted;
      SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1);
      value = builder.create<graph::SliceOp>(loc, type.clone(shape), value, starts, shape, steps);
    }
  }
  return value;
}

bool isReduction(Operation *op) { return isa<dist::AllReduceOp, dist::ReduceScatterOp>(op); }

class Enumerator {
public:
  explicit Enumerator(ModuleOp module) : module(module), mesh(module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr)) {}

  std::vector<Mutation> run() {
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers.try_emplace(op, numbers.size()); });
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      current = op;
      ++number;
      if (isa<dist::DistDialect>(op->getDialect()))
        mutateMovement(op);
      else if (auto function = dyn_cast<FunctionOpInterface>(op))
        mutateDeclarations(function);
      else
        mutateGraphOp(op);
    });
    return std::move(found);
  }

private:
  /// A mutation of the current op.
  void add(StringRef kind, const Twine &what, std::function<void(Operation *)> change) {
    std::string text = (current->getName().getStringRef() + ": " + what).str();
    found.push_back({kind.str(), text, current->getLoc(),
                     [at = number, change = std::move(change)](ModuleOp clone) { change(opAt(clone, at)); }});
  }

  static Operation *opAt(ModuleOp module, int64_t number) {
    int64_t next = -1;
    Operation *found = nullptr;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (++next != number)
        return WalkResult::advance();
      found = op;
      return WalkResult::interrupt();
    });
    return found;
  }

  SmallVector<dist::Axis> axesBut(dist::Axis axis) const {
    SmallVector<dist::Axis> others;
    for (dist::Axis other : axes())
      if (other != axis)
        others.push_back(other);
    return others;
  }
  /// Those that the mesh has, and parts of tp where it takes it apart.
  SmallVector<dist::Axis> axes() const {
    SmallVector<dist::Axis> found{dist::Axis::TP, dist::Axis::DP, dist::Axis::MB};
    if (mesh.getTpMinor() > 1)
      found.append({dist::Axis::TPMajor, dist::Axis::TPMinor});
    llvm::erase_if(found, [&](dist::Axis axis) { return mesh.getSize(axis) == 1; });
    return found;
  }

  void mutateMovement(Operation *op) {
    add("drop", "dropped", [](Operation *op) {
      OpBuilder builder(op);
      op->getResult(0).replaceAllUsesWith(fit(builder, op->getOperand(0), tensorType(op->getResult(0))));
      op->erase();
    });
    if (auto axis = op->getAttrOfType<dist::AxisAttr>("axis"))
      for (dist::Axis other : axesBut(axis.getValue()))
        add("axis", "over " + dist::stringifyAxis(other),
            [other](Operation *op) { op->setAttr("axis", dist::AxisAttr::get(op->getContext(), other)); });
    if (isReduction(op)) {
      auto kind = op->getAttrOfType<dist::ReduceKindAttr>("kind").getValue();
      for (auto other : {dist::ReduceKind::Sum, dist::ReduceKind::Max, dist::ReduceKind::Min})
        if (other != kind)
          add("kind", dist::stringifyReduceKind(other),
              [other](Operation *op) { op->setAttr("kind", dist::ReduceKindAttr::get(op->getContext(), other)); });
      add("double", "reduced again", [](Operation *op) {
        reduceAgain(op->getResult(0), op->getAttrOfType<dist::AxisAttr>("axis").getValue(),
                    op->getAttrOfType<dist::ReduceKindAttr>("kind").getValue());
      });
    }
    for (StringRef name : {"dim", "gather_dim", "split_dim"})
      if (op->hasAttr(name))
        mutateDim(op, name);
    if (auto mask = dyn_cast<dist::MaskPaddingOp>(op)) {
      mutateShard(op, "shard", mask.getShard());
      add("value", "another value", [](Operation *op) {
        auto mask = cast<dist::MaskPaddingOp>(op);
        mask.setValueAttr(FloatAttr::get(mask.getValueAttr().getType(), mask.getValue().isZero() ? 1.0 : 0.0));
      });
    }
    mutateUses(op);
  }

  static void reduceAgain(Value value, dist::Axis axis, dist::ReduceKind kind) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto again = builder.create<dist::AllReduceOp>(value.getLoc(), value.getType(), kind, value, axis, "mutation");
    value.replaceAllUsesExcept(again, again);
  }

  /// Works on another dimension, where the sizes allow it.
  void mutateDim(Operation *op, StringRef name) {
    int64_t dim = op->getAttrOfType<IntegerAttr>(name).getInt();
    auto from = tensorType(op->getOperand(0)), to = tensorType(op->getResult(0));
    for (int64_t other = 0; other < from.getRank(); ++other) {
      SmallVector<int64_t> shape(to.getShape());
      int64_t before = from.getDimSize(dim), after = to.getDimSize(dim), size = from.getDimSize(other) * after;
      if (other == dim || size % before || to.getDimSize(other) != from.getDimSize(other))
        continue;
      shape[dim] = before;
      shape[other] = size / before;
      auto type = to.clone(shape);
      add("dim", name + " " + Twine(other), [=](Operation *op) {
        op->setAttr(name, IntegerAttr::get(IntegerType::get(op->getContext(), 64), other));
        Value result = op->getResult(0);
        auto wanted = tensorType(result);
        if (wanted == type)
          return;
        result.setType(type);
        OpBuilder builder(op->getContext());
        builder.setInsertionPointAfter(op);
        auto shaped = builder.create<graph::ReshapeOp>(op->getLoc(), wanted, result);
        result.replaceAllUsesExcept(shaped, shaped);
      });
    }
  }

  void mutateShard(Operation *op, StringRef name, dist::ShardAttr shard) {
    auto change = [&](const Twine &what, int64_t dim, ArrayRef<dist::Axis> axes, int64_t chunk, int64_t full) {
      auto other = dist::ShardAttr::get(op->getContext(), dim, axes, chunk, full);
      add("shard", what, [other, name](Operation *op) { op->setAttr(name, other); });
    };
    int64_t dim = shard.getDim(), chunk = shard.getChunk(), full = shard.getFull();
    change("full - 1", dim, shard.getAxes(), chunk, full - 1);
    change("full + 1", dim, shard.getAxes(), chunk, full + 1);
    change("chunk - 1", dim, shard.getAxes(), chunk - 1, full);
    change("chunk + 1", dim, shard.getAxes(), chunk + 1, full);
    for (dist::Axis other : axesBut(shard.getAxes().front()))
      change("over " + dist::stringifyAxis(other), dim, {other}, chunk, full);
    Value value = op->getNumOperands() ? op->getOperand(0) : op->getResult(0);
    for (int64_t other = 0; other < tensorType(value).getRank(); ++other)
      if (other != dim)
        change("dim " + Twine(other), other, shard.getAxes(), chunk, full);
  }

  /// An op uses the value before the movement, or the one behind it, instead of the other.
  void mutateUses(Operation *op) {
    Value before = op->getOperand(0), after = op->getResult(0);
    if (before.getType() != after.getType())
      return;
    // Clones have their uses in another order.
    auto replace = [&](StringRef kind, StringRef what, OpOperand &use, bool byResult) {
      add(kind, what + " for " + use.getOwner()->getName().getStringRef(),
          [byResult, user = numbers.lookup(use.getOwner()), operand = use.getOperandNumber()](Operation *op) {
            Value value = byResult ? op->getResult(0) : op->getOperand(0);
            opAt(op->getParentOfType<ModuleOp>(), user)->setOperand(operand, value);
          });
    };
    for (OpOperand &use : after.getUses())
      replace("unmoved", "not", use, /*byResult=*/false);
    for (OpOperand &use : before.getUses())
      if (use.getOwner() != op && op->isBeforeInBlock(use.getOwner()))
        replace("moved", "also", use, /*byResult=*/true);
    if (!isa<dist::AllReduceOp>(op) || !after.hasOneUse())
      return;
    Operation *user = *after.user_begin();
    if (user->getNumResults() == 1 && user->getBlock() == op->getBlock() &&
        user->getResult(0).getType() == after.getType())
      add("late", "behind " + user->getName().getStringRef(), [](Operation *op) {
        Value result = (*op->getResult(0).user_begin())->getResult(0);
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        auto reduce = cast<dist::AllReduceOp>(op);
        reduceAgain(result, reduce.getAxis(), reduce.getKind());
        op->erase();
      });
  }

  void mutateGraphOp(Operation *op) {
    if (auto shard = op->getAttrOfType<dist::ShardAttr>(dist::kShardAttr)) {
      mutateShard(op, dist::kShardAttr, shard);
      add("shard", "none", [](Operation *op) { op->removeAttr(dist::kShardAttr); });
    }
    if (auto sharding = op->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr))
      mutateSharding(
          sharding, [](Operation *op, Attribute other) { op->setAttr(dist::kShardingAttr, other); }, "made dimensions");
    if (op->getNumResults() == 0 || isa<graph::ConstantOp>(op) ||
        !isa<FloatType>(tensorType(op->getResult(0)).getElementType()))
      return;
    for (dist::Axis axis : axes())
      if (axis != dist::Axis::MB)
        add("insert", "all_reduce sum over " + dist::stringifyAxis(axis),
            [axis](Operation *op) { reduceAgain(op->getResult(0), axis, dist::ReduceKind::Sum); });
  }

  /// Other axes, other dimensions, other partial sums.
  void mutateSharding(dist::ShardingAttr sharding, std::function<void(Operation *, Attribute)> set, const Twine &what) {
    auto change = [&](const Twine &how, ArrayRef<dist::DimSharding> dims, ArrayRef<dist::Axis> unreduced) {
      Attribute other = dist::ShardingAttr::get(module.getContext(), dims, unreduced, sharding.getReduce());
      if (other != sharding)
        add("sharding", what + ": " + how, [other, set](Operation *op) { set(op, other); });
    };
    auto dims = sharding.getDims();
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].axes.empty())
        continue;
      SmallVector<dist::DimSharding> none(dims), swapped(dims), rotated(dims);
      none[d] = {};
      change("dimension " + Twine(d) + " whole", none, sharding.getUnreduced());
      for (dist::Axis other : axesBut(dims[d].axes.front())) {
        swapped[d].axes = {other};
        change("dimension " + Twine(d) + " over " + dist::stringifyAxis(other), swapped, sharding.getUnreduced());
      }
      std::swap(rotated[d], rotated[(d + 1) % dims.size()]);
      change("dimensions " + Twine(d) + " and next swapped", rotated, sharding.getUnreduced());
    }
    for (dist::Axis axis : axes()) {
      SmallVector<dist::Axis> axes(sharding.getUnreduced());
      bool wasPartial = sharding.isUnreduced(axis);
      if (wasPartial)
        llvm::erase(axes, axis);
      else
        axes.push_back(axis);
      llvm::sort(axes);
      if (wasPartial || sharding.dimOf(axis) < 0)
        change((wasPartial ? "not partial over " : "partial over ") + dist::stringifyAxis(axis), dims, axes);
    }
  }

  void mutateDeclarations(FunctionOpInterface function) {
    if (!isa<graph::ProgramOp>(function.getOperation()))
      return;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto sharding = function.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr))
        mutateSharding(
            sharding,
            [i](Operation *op, Attribute other) {
              cast<FunctionOpInterface>(op).setArgAttr(i, dist::kShardingAttr, other);
            },
            "argument " + Twine(i));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto sharding = function.getResultAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr))
        mutateSharding(
            sharding,
            [i](Operation *op, Attribute other) {
              cast<FunctionOpInterface>(op).setResultAttr(i, dist::kShardingAttr, other);
            },
            "result " + Twine(i));
  }

  ModuleOp module;
  dist::MeshAttr mesh;
  Operation *current = nullptr;
  int64_t number = -1; ///< of the current op in the walk
  llvm::DenseMap<Operation *, int64_t> numbers;
  std::vector<Mutation> found;
};
} // namespace

std::vector<Mutation> p3d::mutationsOf(ModuleOp module) { return Enumerator(module).run(); }
