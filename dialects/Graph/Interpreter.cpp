// Programs, blocks, calls and constants; each operation is handed to its topic.
#include "dialects/Graph/Interpreter.h"
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/APFloat.h"
#include <deque>

using namespace mlir;
using namespace p3d::graph;
using namespace p3d::graph::interpreter;

Tensor::Tensor(ArrayRef<int64_t> shape, Type elementType) : shape(shape), elementType(elementType) {
  if (isFloat())
    floats.resize(size());
  else
    ints.resize(size());
}

int64_t Tensor::size() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

SmallVector<int64_t> Tensor::strides() const {
  SmallVector<int64_t> steps(shape.size(), 1);
  for (int64_t dim = rank() - 2; dim >= 0; --dim)
    steps[dim] = steps[dim + 1] * shape[dim + 1];
  return steps;
}

int64_t p3d::graph::wrapInteger(int64_t value, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width >= 64)
    return value;
  int64_t low = value & ((int64_t(1) << width) - 1);
  bool negative = !type.isUnsignedInteger() && width > 1 && (low >> (width - 1));
  return negative ? low - (int64_t(1) << width) : low;
}

namespace {
double toDouble(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

int64_t toInteger(const APInt &value, Type type) { return wrapInteger(value.zextOrTrunc(64).getZExtValue(), type); }

double roundTo(FloatType type, double value) {
  APFloat rounded(value);
  bool losesInfo;
  rounded.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return toDouble(rounded);
}

void roundFloats(Tensors &tensors) {
  for (Tensor &tensor : tensors)
    for (double &element : tensor.floats)
      element = roundTo(cast<FloatType>(tensor.elementType), element);
}
} // namespace

FailureOr<Tensor> p3d::graph::tensorOf(Operation *op, ElementsAttr value) {
  Tensor tensor(cast<RankedTensorType>(value.getShapedType()));
  Type type = tensor.elementType;
  if (tensor.isFloat()) {
    if (auto floats = value.tryGetValues<APFloat>()) {
      llvm::transform(*floats, tensor.floats.begin(), toDouble);
      return tensor;
    }
  } else if (auto ints = value.tryGetValues<APInt>()) {
    llvm::transform(*ints, tensor.ints.begin(), [&](const APInt &element) { return toInteger(element, type); });
    return tensor;
  }
  return op->emitOpError() << "holds its elements in a form that cannot be read; write them as dense<..>";
}

FailureOr<Tensors> p3d::graph::evaluate(Operation *op, ArrayRef<const Tensor *> operands, const ShardPosition *shard) {
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    FailureOr<Tensor> value = tensorOf(op, constant.getValue());
    if (failed(value))
      return failure();
    return single(std::move(*value));
  }
  for (auto topic : {evaluateElementwise, evaluateCombining, evaluateNamed, evaluateAttention})
    if (std::optional<Tensors> results = topic(op, operands))
      return std::move(*results);
  for (auto topic : {evaluateShape, evaluateRows})
    if (std::optional<Tensors> results = topic(op, operands, shard))
      return std::move(*results);
  return op->emitOpError() << "has no meaning in the interpreter";
}

namespace {
/// Evaluates the functions of one module.
class Interpreter {
public:
  explicit Interpreter(const InterpretOptions &options) : options(options) {}

  FailureOr<Tensors> run(FunctionOpInterface function, Operands inputs);

private:
  FailureOr<Tensors> step(Operation &op, Operands operands);

  const InterpretOptions &options;
  SymbolTableCollection symbols;
};
} // namespace

FailureOr<Tensors> Interpreter::step(Operation &op, Operands operands) {
  if (isa<UpdateOp>(op))
    return Tensors();
  auto call = dyn_cast<CallOp>(op);
  FailureOr<Tensors> results = call ? run(symbols.lookupNearestSymbolFrom<BlockOp>(call, call.getCalleeAttr()), operands) : evaluate(&op, operands);
  if (succeeded(results) && !call && options.roundToType)
    roundFloats(*results);
  if (succeeded(results) && options.observe)
    options.observe(&op, *results);
  return results;
}

FailureOr<Tensors> Interpreter::run(FunctionOpInterface function, Operands inputs) {
  std::deque<Tensors> owned;
  DenseMap<Value, const Tensor *> frame;
  for (auto [argument, input] : llvm::zip(function.getArguments(), inputs))
    frame[argument] = input;
  for (Operation &op : function.getFunctionBody().front().without_terminator()) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(frame.lookup(operand));
    FailureOr<Tensors> results = step(op, operands);
    if (failed(results))
      return failure();
    owned.push_back(std::move(*results));
    for (auto [value, tensor] : llvm::zip(op.getResults(), owned.back()))
      frame[value] = &tensor;
  }
  Tensors results;
  for (Value value : function.getFunctionBody().front().getTerminator()->getOperands())
    results.push_back(*frame.lookup(value));
  return results;
}

FailureOr<Tensors> p3d::graph::interpret(ProgramOp program, ArrayRef<Tensor> inputs, const InterpretOptions &options) {
  auto types = program.getArgumentTypes();
  if (inputs.size() != types.size())
    return program.emitOpError() << "is given " << inputs.size() << " inputs, expected " << types.size();
  SmallVector<const Tensor *> pointers;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (input.type() != types[i])
      return program.emitOpError() << "argument " << i << " of type " << types[i] << " is given " << input.type();
    pointers.push_back(&input);
  }
  return Interpreter(options).run(program, pointers);
}
