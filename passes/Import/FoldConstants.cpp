// Evaluates small integer tensors that depend on nothing but constants, by the interpreter, and keeps the result where it has a short form.
#include "dialects/Graph/Interpreter.h"
#include "passes/Import/Passes.h"

namespace p3d {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;

namespace {

/// Elements of a tensor that is evaluated; larger ones are left to run time.
constexpr int64_t kMaxElements = 1 << 16;

bool isSmallInteger(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<IntegerType>(tensor.getElementType()) && tensor.getNumElements() > 0 && tensor.getNumElements() <= kMaxElements;
}

bool isUniform(const graph::Tensor &tensor) { return llvm::all_equal(tensor.ints); }

/// The dimension along which each element is its own index.
std::optional<int64_t> iotaDimension(const graph::Tensor &tensor) {
  SmallVector<int64_t> strides = tensor.strides();
  for (int64_t dim = 0; dim < tensor.rank(); ++dim) {
    if (tensor.shape[dim] == 1)
      continue;
    bool fits = llvm::all_of(llvm::seq<int64_t>(0, tensor.size()), [&](int64_t i) {
      return tensor.ints[i] == i / strides[dim] % tensor.shape[dim];
    });
    if (fits)
      return dim;
  }
  return std::nullopt;
}

class ConstantFolder {
public:
  void run(graph::ProgramOp program) {
    OpBuilder builder(program.getContext());
    for (Operation &op : llvm::make_early_inc_range(program.getBody().front().without_terminator())) {
      if (!evaluate(&op) || isa<graph::ConstantOp, graph::IotaOp>(op))
        continue;
      builder.setInsertionPoint(&op);
      for (Value result : op.getResults())
        if (Value shorter = shorten(builder, result)) {
          auto known = values[result]; // a copy: the table may move when it grows
          values[shorter] = std::move(known);
          result.replaceAllUsesWith(shorter);
        }
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

private:
  /// Evaluates `op` where all its operands are known.
  bool evaluate(Operation *op) {
    if (op->getNumResults() == 0 || !llvm::all_of(op->getResultTypes(), isSmallInteger) || isa<graph::CallOp>(op))
      return false;
    std::vector<const graph::Tensor *> operands;
    for (Value operand : op->getOperands()) {
      auto it = values.find(operand);
      if (it == values.end())
        return false;
      operands.push_back(&it->second);
    }
    FailureOr<graph::Tensors> results = graph::evaluate(op, operands);
    if (failed(results))
      return false;
    for (auto [result, tensor] : llvm::zip(op->getResults(), *results))
      values[result] = tensor;
    return true;
  }

  Value shorten(OpBuilder &builder, Value result) {
    const graph::Tensor &tensor = values[result];
    auto type = graph::tensorType(result);
    if (isUniform(tensor)) {
      auto scalar = builder.getIntegerAttr(type.getElementType(), tensor.ints.front());
      return builder.create<graph::ConstantOp>(result.getLoc(), type, cast<ElementsAttr>(DenseElementsAttr::get(type, scalar)));
    }
    if (std::optional<int64_t> dim = iotaDimension(tensor))
      return builder.create<graph::IotaOp>(result.getLoc(), type, *dim);
    return {};
  }

  DenseMap<Value, graph::Tensor> values;
};

struct FoldConstantsPass : p3d::impl::FoldConstantsBase<FoldConstantsPass> {
  void runOnOperation() override { ConstantFolder().run(getOperation()); }
};

} // namespace
