// The interpreter's element-wise operations. Integer arithmetic wraps; the sum of two i1 is their disjunction; division and
// remainder by zero follow XLA.
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace p3d::graph;
using namespace p3d::graph::interpreter;

namespace {
template <typename Fn> Tensors mapFloats(Operation *op, Operands in, Fn fn) {
  Tensor result = zeros(op->getResult(0));
  for (auto [to, from] : llvm::zip(result.floats, in[0]->floats))
    to = fn(from);
  return single(std::move(result));
}

template <typename Fn> Tensors mapInts(Operation *op, Operands in, Fn fn) {
  Tensor result = zeros(op->getResult(0));
  for (auto [to, from] : llvm::zip(result.ints, in[0]->ints))
    to = wrapInteger(fn(from), result.elementType);
  return single(std::move(result));
}

template <typename Fn> Tensors zipFloats(Operation *op, Operands in, Fn fn) {
  Tensor result = zeros(op->getResult(0));
  for (auto [to, a, b] : llvm::zip(result.floats, in[0]->floats, in[1]->floats))
    to = fn(a, b);
  return single(std::move(result));
}

template <typename Fn> Tensors zipInts(Operation *op, Operands in, Fn fn) {
  Tensor result = zeros(op->getResult(0));
  for (auto [to, a, b] : llvm::zip(result.ints, in[0]->ints, in[1]->ints))
    to = wrapInteger(fn(a, b), result.elementType);
  return single(std::move(result));
}

/// One formula for floats, one for integers.
template <typename FloatFn, typename IntFn> Tensors zipBoth(Operation *op, Operands in, FloatFn floats, IntFn ints) {
  return in[0]->isFloat() ? zipFloats(op, in, floats) : zipInts(op, in, ints);
}

/// Signed arithmetic that wraps without undefined behaviour.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

bool isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

int64_t divideInts(int64_t a, int64_t b, Type type) {
  if (b == 0)
    return -1;
  if (isUnsigned(type))
    return wrapped(uint64_t(a) / uint64_t(b));
  return b == -1 ? wrapped(-uint64_t(a)) : a / b;
}

int64_t remainderInts(int64_t a, int64_t b, Type type) {
  if (b == 0)
    return a;
  if (isUnsigned(type))
    return wrapped(uint64_t(a) % uint64_t(b));
  return b == -1 ? 0 : a % b;
}

int64_t powerInts(int64_t base, int64_t exponent, Type type) {
  if (exponent < 0 && !isUnsigned(type))
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = base;
  for (uint64_t bits = exponent; bits; bits >>= 1, square *= square)
    if (bits & 1)
      result *= square;
  return wrapped(result);
}

bool lessInts(int64_t a, int64_t b, Type type) { return isUnsigned(type) ? uint64_t(a) < uint64_t(b) : a < b; }

double maximum(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double minimum(double a, double b) { return std::isnan(a) || a < b ? a : b; }

template <typename T> bool holds(ComparePredicate predicate, T a, T b) {
  switch (predicate) {
  case ComparePredicate::Eq:
    return a == b;
  case ComparePredicate::Ne:
    return a != b;
  case ComparePredicate::Lt:
    return a < b;
  case ComparePredicate::Le:
    return a <= b;
  case ComparePredicate::Gt:
    return a > b;
  case ComparePredicate::Ge:
    return a >= b;
  }
  llvm_unreachable("a predicate outside the enumeration");
}

Tensors compare(CompareOp op, Operands in) {
  Tensor result = zeros(op.getResult());
  bool isFloat = in[0]->isFloat(), unsignedInts = isUnsigned(in[0]->elementType);
  for (int64_t i = 0, n = result.size(); i < n; ++i) {
    if (isFloat)
      result.ints[i] = holds(op.getPredicate(), in[0]->floats[i], in[1]->floats[i]);
    else if (unsignedInts)
      result.ints[i] = holds<uint64_t>(op.getPredicate(), in[0]->ints[i], in[1]->ints[i]);
    else
      result.ints[i] = holds(op.getPredicate(), in[0]->ints[i], in[1]->ints[i]);
  }
  return single(std::move(result));
}

Tensors select(SelectOp op, Operands in) {
  Tensor result = zeros(op.getResult());
  for (int64_t i = 0, n = result.size(); i < n; ++i)
    copyElement(result, i, in[0]->ints[i] ? *in[1] : *in[2], i);
  return single(std::move(result));
}

/// Truncates; NaN gives 0 and what is out of range the nearest bound.
int64_t floatToInt(double value, Type type) {
  if (type.isInteger(1))
    return value != 0;
  unsigned width = type.getIntOrFloatBitWidth();
  double high = std::ldexp(1.0, isUnsigned(type) ? width : width - 1), low = isUnsigned(type) ? 0 : -high;
  if (std::isnan(value))
    return 0;
  if (value >= high)
    return wrapInteger(isUnsigned(type) ? -1 : int64_t((uint64_t(1) << (width - 1)) - 1), type);
  if (value <= low)
    return wrapInteger(isUnsigned(type) ? 0 : wrapped(uint64_t(1) << (width - 1)), type);
  return isUnsigned(type) ? wrapped(uint64_t(value)) : int64_t(value);
}

Tensors convert(ConvertOp op, Operands in) {
  Tensor result = zeros(op.getResult());
  Type from = in[0]->elementType, to = result.elementType;
  for (int64_t i = 0, n = result.size(); i < n; ++i) {
    if (in[0]->isFloat() && result.isFloat())
      result.floats[i] = in[0]->floats[i];
    else if (in[0]->isFloat())
      result.ints[i] = floatToInt(in[0]->floats[i], to);
    else if (result.isFloat())
      result.floats[i] = isUnsigned(from) ? double(uint64_t(in[0]->ints[i])) : double(in[0]->ints[i]);
    else
      result.ints[i] = to.isInteger(1) ? in[0]->ints[i] != 0 : wrapInteger(in[0]->ints[i], to);
  }
  return single(std::move(result));
}

Tensors isFinite(IsFiniteOp op, Operands in) {
  Tensor result = zeros(op.getResult());
  for (auto [to, from] : llvm::zip(result.ints, in[0]->floats))
    to = std::isfinite(from);
  return single(std::move(result));
}

Tensors shiftRight(ShiftRightOp op, Operands in) {
  unsigned width = in[0]->elementType.getIntOrFloatBitWidth();
  uint64_t mask = width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  return zipInts(op, in, [&](uint64_t a, uint64_t b) { return (b & mask) < width ? (a & mask) >> (b & mask) : 0; });
}

/// x < 0: -1, x > 0: 1, and 0 or NaN as they are.
double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

std::optional<Tensors> evaluateUnary(Operation *op, Operands in) {
  using Results = std::optional<Tensors>;
  auto floats = [&](double (*fn)(double)) { return mapFloats(op, in, fn); };
  return TypeSwitch<Operation *, Results>(op)
      .Case([&](NegOp) { return in[0]->isFloat() ? mapFloats(op, in, std::negate<double>()) : mapInts(op, in, [](uint64_t x) { return wrapped(-x); }); })
      .Case([&](AbsOp) { return in[0]->isFloat() ? floats(std::fabs) : mapInts(op, in, [&](int64_t x) {
          return x < 0 && !isUnsigned(in[0]->elementType) ? wrapped(-uint64_t(x)) : x; }); })
      .Case([&](SignOp) { return in[0]->isFloat() ? floats(signOf) : mapInts(op, in, [&](int64_t x) {
          return isUnsigned(in[0]->elementType) ? x != 0 : (x > 0) - (x < 0); }); })
      .Case([&](NotOp) { return mapInts(op, in, [](int64_t x) { return ~x; }); })
      .Case([&](ExpOp) { return floats(std::exp); })
      .Case([&](Expm1Op) { return floats(std::expm1); })
      .Case([&](LogOp) { return floats(std::log); })
      .Case([&](Log1pOp) { return floats(std::log1p); })
      .Case([&](SqrtOp) { return floats(std::sqrt); })
      .Case([&](RsqrtOp) { return mapFloats(op, in, [](double x) { return 1 / std::sqrt(x); }); })
      .Case([&](CbrtOp) { return floats(std::cbrt); })
      .Case([&](TanhOp) { return floats(std::tanh); })
      .Case([&](LogisticOp) { return mapFloats(op, in, [](double x) { return 1 / (1 + std::exp(-x)); }); })
      .Case([&](SinOp) { return floats(std::sin); })
      .Case([&](CosOp) { return floats(std::cos); })
      .Case([&](ErfOp) { return floats(std::erf); })
      .Case([&](ErfcOp) { return floats(std::erfc); })
      .Case([&](FloorOp) { return floats(std::floor); })
      .Case([&](CeilOp) { return floats(std::ceil); })
      .Case([&](RoundEvenOp) { return floats(std::nearbyint); })
      .Case([&](StopGradientOp) { return single(*in[0]); })
      .Case([&](IsFiniteOp op) { return isFinite(op, in); })
      .Case([&](ConvertOp op) { return convert(op, in); })
      .Default([](Operation *) { return std::nullopt; });
}
} // namespace

std::optional<Tensors> interpreter::evaluateElementwise(Operation *op, Operands in) {
  if (op->getNumOperands() == 1)
    return evaluateUnary(op, in);
  Type type = in.empty() ? Type() : in[0]->elementType;
  return TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](AddOp) { return zipBoth(op, in, std::plus<double>(), [&](uint64_t a, uint64_t b) { return type.isInteger(1) ? wrapped(a | b) : wrapped(a + b); }); })
      .Case([&](SubOp) { return zipBoth(op, in, std::minus<double>(), [](uint64_t a, uint64_t b) { return wrapped(a - b); }); })
      .Case([&](MulOp) { return zipBoth(op, in, std::multiplies<double>(), [](uint64_t a, uint64_t b) { return wrapped(a * b); }); })
      .Case([&](DivOp) { return zipBoth(op, in, std::divides<double>(), [&](int64_t a, int64_t b) { return divideInts(a, b, type); }); })
      .Case([&](MaxOp) { return zipBoth(op, in, maximum, [&](int64_t a, int64_t b) { return lessInts(a, b, type) ? b : a; }); })
      .Case([&](MinOp) { return zipBoth(op, in, minimum, [&](int64_t a, int64_t b) { return lessInts(b, a, type) ? b : a; }); })
      .Case([&](PowOp) { return zipBoth(op, in, [](double a, double b) { return std::pow(a, b); }, [&](int64_t a, int64_t b) { return powerInts(a, b, type); }); })
      .Case([&](RemOp) { return zipBoth(op, in, [](double a, double b) { return std::fmod(a, b); }, [&](int64_t a, int64_t b) { return remainderInts(a, b, type); }); })
      .Case([&](AndOp) { return zipInts(op, in, std::bit_and<int64_t>()); })
      .Case([&](OrOp) { return zipInts(op, in, std::bit_or<int64_t>()); })
      .Case([&](XorOp) { return zipInts(op, in, std::bit_xor<int64_t>()); })
      .Case([&](ShiftLeftOp) { return zipInts(op, in, [&](uint64_t a, uint64_t b) { return b < type.getIntOrFloatBitWidth() ? wrapped(a << b) : 0; }); })
      .Case([&](ShiftRightOp op) { return shiftRight(op, in); })
      .Case([&](CompareOp op) { return compare(op, in); })
      .Case([&](SelectOp op) { return select(op, in); })
      .Default([](Operation *) { return std::nullopt; });
}
