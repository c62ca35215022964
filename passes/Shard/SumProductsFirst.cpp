// Sums add up what matrix products contribute before anything else; see Passes.td.
#include "passes/Shard/Passes.h"

namespace p3d::shard {
#define GEN_PASS_DEF_SUMPRODUCTSFIRST
#include "passes/Shard/Passes.h.inc"
} // namespace p3d::shard

using namespace mlir;
using namespace p3d;

namespace {
/// Whether an add is a term of another one and of nothing else.
bool isInner(graph::AddOp add) { return add->hasOneUse() && isa<graph::AddOp>(*add->getUsers().begin()); }

bool isProduct(Value value) {
  Operation *def = value.getDefiningOp();
  while (def && isa<graph::ReshapeOp, graph::TransposeOp, graph::ConvertOp>(def) && def->getOperand(0).hasOneUse())
    def = def->getOperand(0).getDefiningOp();
  return isa_and_nonnull<graph::EinsumOp>(def);
}

/// The terms of a sum, from left to right, and the adds that join them.
void collect(graph::AddOp add, SmallVectorImpl<Value> &terms, SmallVectorImpl<graph::AddOp> &adds) {
  for (Value operand : {add.getLhs(), add.getRhs()}) {
    auto inner = operand.getDefiningOp<graph::AddOp>();
    if (inner && isInner(inner))
      collect(inner, terms, adds);
    else
      terms.push_back(operand);
  }
  adds.push_back(add);
}

void regroup(graph::AddOp root) {
  SmallVector<Value> terms;
  SmallVector<graph::AddOp> adds;
  collect(root, terms, adds);
  if (llvm::count_if(terms, isProduct) < 2 || llvm::all_of(terms, isProduct))
    return;
  std::stable_partition(terms.begin(), terms.end(), isProduct);
  OpBuilder builder(root);
  Value sum = terms.front();
  // The last of the new adds stands for the old sum, and each for the old one in its place.
  for (auto [add, term] : llvm::zip(adds, ArrayRef(terms).drop_front())) {
    OperationState state(add.getLoc(), graph::AddOp::getOperationName(), {sum, term}, {root.getType()}, add->getAttrs());
    sum = builder.create(state)->getResult(0);
  }
  root.replaceAllUsesWith(sum);
  for (graph::AddOp add : llvm::reverse(adds))
    add.erase();
}

struct SumProductsFirst : p3d::shard::impl::SumProductsFirstBase<SumProductsFirst> {
  void runOnOperation() override {
    SmallVector<graph::AddOp> roots;
    getOperation().walk([&](graph::AddOp add) {
      if (!isInner(add) && isa<FloatType>(graph::tensorType(add).getElementType()))
        roots.push_back(add);
    });
    for (graph::AddOp root : roots)
      regroup(root);
  }
};
} // namespace
