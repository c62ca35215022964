#include "compiler/Verification.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// A gradient is compared relative to its own norm, or to this part of the norm of all if that is more: some are zero in exact arithmetic (that of the bias of
/// attention's keys), and what is found is the rounding of what cancels.
constexpr double kSmallestShare = 1e-3;
constexpr StringLiteral kGradientPrefix = "grads.";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double norm(const Tensor &tensor) {
  double squares = 0;
  for (double element : tensor.floats)
    squares += element * element;
  return std::sqrt(squares);
}

double element(const Tensor &tensor, int64_t position) { return tensor.isFloat() ? tensor.floats[position] : double(tensor.ints[position]); }

/// Calls fn(position in `inner`, position in `outer`) for the elements of the box `inner` at the start of `outer`.
template <typename Fn> void forEachInBox(const Tensor &inner, const Tensor &outer, Fn fn) {
  SmallVector<int64_t> innerStrides = inner.strides(), outerStrides = outer.strides();
  for (int64_t position = 0, n = inner.size(); position < n; ++position) {
    int64_t rest = position, there = 0;
    for (auto [a, b] : llvm::zip(innerStrides, outerStrides)) {
      there += rest / a * b;
      rest %= a;
    }
    fn(position, there);
  }
}

std::string placeOf(mlir::Location location) {
  std::string text;
  raw_string_ostream stream(text);
  if (auto file = location->findInstanceOf<mlir::FileLineColLoc>())
    stream << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn();
  else
    stream << location;
  return text;
}

std::string describe(mlir::Operation *op) { return formatv("{0} ({1})", op->getName().getStringRef(), placeOf(op->getLoc())).str(); }

/// The operation that makes result `number` of a call; null if the block only passes an argument on.
mlir::Operation *makerOf(CallOp call, unsigned number) {
  return call.lookupBlock().getBody().front().getTerminator()->getOperand(number).getDefiningOp();
}

/// The results of `call` in the order in which the block computes them.
SmallVector<unsigned> computedOrder(CallOp call) {
  SmallVector<unsigned> order;
  for (unsigned i = 0; i < call.getNumResults(); ++i)
    if (makerOf(call, i))
      order.push_back(i);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) { return makerOf(call, a)->isBeforeInBlock(makerOf(call, b)); });
  return order;
}

class FirstDifference {
public:
  FirstDifference(ProgramOp program, const TensorFile &values, const NamedTensors &found, const Tolerances &tolerances)
      : program(program), values(values), found(found), tolerances(tolerances) {}

  Expected<std::string> run(ArrayRef<Tensor> inputs) {
    InterpretOptions options;
    options.observe = [&](mlir::Operation *op, ArrayRef<Tensor> results) {
      auto call = dyn_cast<CallOp>(op);
      bool isForward = call && call->getBlock() == &program.getBody().front() && !call.lookupBlock()->hasAttr(kBackwardOfAttr);
      if (isForward && report.empty())
        checkCall(call, results);
    };
    auto results = interpret(program, inputs, options);
    if (mlir::failed(results))
      return createStringError(inconvertibleErrorCode(), "the step as it was sharded cannot be interpreted; compile the model again, from its source");
    if (report.empty())
      checkGradients(namedResults(program, *results));
    return report;
  }

private:
  void checkCall(CallOp call, ArrayRef<Tensor> results) {
    for (unsigned i : computedOrder(call)) {
      std::string name = nameOf(call) + "." + std::to_string(i);
      if (!values.has(name))
        continue;
      Expected<Tensor> there = values.read(name, results[i].elementType);
      double error = there ? relativeError(*there, results[i]) : kInfinity;
      consumeError(there.takeError());
      if (error <= tolerances.tensor)
        continue;
      report = formatv("{0} in block @{1} of {2}: relative error {3:e1}, limit {4:e0}", describe(makerOf(call, i)), call.getCallee(), nameOf(call), error,
                       tolerances.tensor);
      return;
    }
  }

  /// The gradient of a parameter is a sum over the calls that use it: the last of them completes it.
  CallOp completingCall(mlir::Value gradient, unsigned &number) {
    CallOp last;
    SmallVector<mlir::Value> open{gradient};
    while (!open.empty()) {
      mlir::Value value = open.pop_back_val();
      mlir::Operation *def = value.getDefiningOp();
      auto call = dyn_cast_or_null<CallOp>(def);
      if (call && (!last || last->isBeforeInBlock(call))) {
        last = call;
        number = cast<mlir::OpResult>(value).getResultNumber();
      } else if (def && !call) {
        llvm::append_range(open, def->getOperands());
      }
    }
    return last;
  }

  void checkGradients(const NamedTensors &expected) {
    std::vector<Difference> differences = compareResults(expected, found, tolerances);
    CallOp first;
    for (auto [i, gradient] : llvm::enumerate(program.getBody().front().getTerminator()->getOperands())) {
      auto name = program.getResultAttrOfType<mlir::StringAttr>(i, kNameAttr);
      auto isWrong = [&](const Difference &difference) { return name && difference.what == name.getValue() && !difference.isFine(); };
      auto wrong = llvm::find_if(differences, isWrong);
      unsigned number = 0;
      CallOp call = wrong == differences.end() ? CallOp() : completingCall(gradient, number);
      if (!call || (first && first->isBeforeInBlock(call)))
        continue;
      first = call;
      mlir::Operation *maker = makerOf(call, number);
      report = formatv("{0} in block @{1}, which gives {2}: relative error {3:e1}, limit {4:e0}", maker ? describe(maker) : "an argument", call.getCallee(),
                       wrong->what, wrong->error, wrong->limit);
    }
  }

  ProgramOp program;
  const TensorFile &values;
  const NamedTensors &found;
  Tolerances tolerances;
  std::string report;
};
} // namespace

Tolerances p3d::tolerancesOf(ProgramOp program) {
  bool hasBf16 = false, hasF16 = false;
  program->getParentOp()->walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<mlir::RankedTensorType>(type)) {
        hasBf16 |= tensor.getElementType().isBF16();
        hasF16 |= tensor.getElementType().isF16();
      }
  });
  return hasBf16 ? kBf16Tolerances : hasF16 ? kF16Tolerances : kF32Tolerances;
}

double p3d::relativeError(const Tensor &found, const Tensor &expected, double smallestNorm) {
  if (found.rank() != expected.rank() || found.isFloat() != expected.isFloat() ||
      llvm::any_of(llvm::zip(found.shape, expected.shape), [](auto sizes) { return std::get<0>(sizes) < std::get<1>(sizes); }))
    return kInfinity;
  double difference = 0, size = 0;
  forEachInBox(expected, found, [&](int64_t position, int64_t there) {
    double right = element(expected, position), is = element(found, there);
    if (right == is || (std::isnan(right) && std::isnan(is)))
      return;
    difference += (is - right) * (is - right);
  });
  for (int64_t position = 0, n = expected.size(); position < n; ++position)
    if (double right = element(expected, position); std::isfinite(right))
      size += right * right;
  if (difference == 0)
    return 0;
  return std::sqrt(difference) / std::max(std::sqrt(size), smallestNorm);
}

std::vector<Difference> p3d::compareResults(const NamedTensors &expected, const NamedTensors &found, const Tolerances &tolerances) {
  double squares = 0, errorSquares = 0;
  for (const auto &[name, tensor] : expected)
    if (StringRef(name).starts_with(kGradientPrefix))
      squares += norm(tensor) * norm(tensor);
  std::vector<Difference> scalars, gradients;
  for (const auto &[name, tensor] : expected) {
    auto there = llvm::find_if(found, [&, &name = name](const auto &entry) { return entry.first == name; });
    bool isGradient = StringRef(name).starts_with(kGradientPrefix);
    if (there == found.end()) {
      gradients.push_back({name, kInfinity, tolerances.tensor});
      continue;
    }
    double error = relativeError(there->second, tensor, isGradient ? kSmallestShare * std::sqrt(squares) : 0);
    (isGradient ? gradients : scalars).push_back({name, error, isGradient ? tolerances.tensor : tolerances.scalar});
    if (isGradient) {
      double absolute = relativeError(there->second, tensor, std::sqrt(squares)) * std::max(norm(tensor), std::sqrt(squares));
      errorSquares += absolute * absolute;
    }
  }
  llvm::stable_sort(gradients, [](const Difference &a, const Difference &b) { return !(a.error <= b.error); });
  if (!gradients.empty() && squares > 0)
    scalars.push_back({"all gradients together", std::sqrt(errorSquares / squares), tolerances.allGradients});
  llvm::append_range(scalars, gradients);
  return scalars;
}

Expected<std::string> p3d::findFirstDifference(ProgramOp program, ArrayRef<Tensor> inputs, const TensorFile &values, const NamedTensors &found,
                                               const Tolerances &tolerances) {
  return FirstDifference(program, values, found, tolerances).run(inputs);
}
