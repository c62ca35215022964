// The interpreter's operations that combine elements: reductions, cumulative reductions and products of tensors.
#include "dialects/Graph/EinsumSpec.h"
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace p3d::graph;
using namespace p3d::graph::interpreter;

namespace {
double combine(ReduceKind kind, double a, double b) {
  switch (kind) {
  case ReduceKind::Sum:
    return a + b;
  case ReduceKind::Max:
    return std::isnan(a) || a > b ? a : b;
  case ReduceKind::Min:
    return std::isnan(a) || a < b ? a : b;
  case ReduceKind::Prod:
    return a * b;
  case ReduceKind::And:
    return a != 0 && b != 0;
  case ReduceKind::Or:
    return a != 0 || b != 0;
  }
  llvm_unreachable("a kind outside the enumeration");
}

int64_t combine(ReduceKind kind, int64_t a, int64_t b, Type type) {
  bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
  bool less = isUnsigned ? uint64_t(a) < uint64_t(b) : a < b;
  switch (kind) {
  case ReduceKind::Sum:
    return type.isInteger(1) ? a | b : wrapInteger(uint64_t(a) + uint64_t(b), type);
  case ReduceKind::Max:
    return less ? b : a;
  case ReduceKind::Min:
    return less ? a : b;
  case ReduceKind::Prod:
    return wrapInteger(uint64_t(a) * uint64_t(b), type);
  case ReduceKind::And:
    return a & b;
  case ReduceKind::Or:
    return a | b;
  }
  llvm_unreachable("a kind outside the enumeration");
}

/// What combines with x to x, in floats and as the bits of an integer.
double floatNeutral(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Or:
    return 0;
  case ReduceKind::Max:
    return -std::numeric_limits<double>::infinity();
  case ReduceKind::Min:
    return std::numeric_limits<double>::infinity();
  case ReduceKind::Prod:
  case ReduceKind::And:
    return 1;
  }
  llvm_unreachable("a kind outside the enumeration");
}

int64_t intNeutral(ReduceKind kind, Type type) {
  uint64_t signBit = uint64_t(1) << (type.getIntOrFloatBitWidth() - 1);
  bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Or:
    return 0;
  case ReduceKind::Max:
    return wrapInteger(isUnsigned ? 0 : signBit, type);
  case ReduceKind::Min:
    return wrapInteger(isUnsigned ? ~uint64_t(0) : signBit - 1, type);
  case ReduceKind::Prod:
    return 1;
  case ReduceKind::And:
    return wrapInteger(-1, type);
  }
  llvm_unreachable("a kind outside the enumeration");
}

void combineInto(Tensor &to, int64_t toPosition, const Tensor &from, int64_t fromPosition, ReduceKind kind) {
  if (to.isFloat())
    to.floats[toPosition] = combine(kind, to.floats[toPosition], from.floats[fromPosition]);
  else
    to.ints[toPosition] = combine(kind, to.ints[toPosition], from.ints[fromPosition], to.elementType);
}

Tensor reduce(ReduceKind kind, const Tensor &from, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < from.rank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(from.shape[dim]);
  Tensor result(shape, from.elementType);
  if (result.isFloat())
    result.floats.assign(result.floats.size(), floatNeutral(kind));
  else
    result.ints.assign(result.ints.size(), intNeutral(kind, from.elementType));
  SmallVector<int64_t> kept = result.strides(), strides;
  for (int64_t dim = 0, next = 0; dim < from.rank(); ++dim)
    strides.push_back(llvm::is_contained(dims, dim) ? 0 : kept[next++]);
  forEachIndex(from.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    combineInto(result, positionOf(index, strides), from, position, kind);
  });
  return result;
}

Tensor cumulative(CumulativeOp op, const Tensor &from) {
  Tensor result = from;
  int64_t dim = op.getDim(), step = from.strides()[dim], last = from.shape[dim] - 1;
  forEachIndex(from.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    // The first element of each line along `dim` stands for the whole line.
    if (index[dim] == 0)
      for (int64_t i = 1; i <= last; ++i) {
        int64_t to = op.getReverse() ? last - i : i, previous = op.getReverse() ? to + 1 : to - 1;
        combineInto(result, position + to * step, result, position + previous * step, op.getKind());
      }
  });
  return result;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Einsum
//===--------------------------------------------------------------------------------------------------------------===//

/// An operand brought into the order of the letters of `wanted`; the others are summed.
Tensor arrange(const Tensor &operand, StringRef letters, StringRef wanted) {
  SmallVector<int64_t> alone, permutation;
  std::string kept;
  for (auto [dim, letter] : llvm::enumerate(letters)) {
    if (wanted.contains(letter))
      kept += letter;
    else
      alone.push_back(dim);
  }
  for (char letter : wanted)
    permutation.push_back(kept.find(letter));
  return transpose(alone.empty() ? operand : sumOver(operand, alone), permutation);
}

/// out[batch, m, n] += lhs[batch, m, k] * rhs[batch, k, n].
template <typename T>
void multiply(const std::vector<T> &lhs, const std::vector<T> &rhs, std::vector<T> &out, int64_t batch, int64_t m,
              int64_t n, int64_t k) {
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < k; ++j) {
        T factor = lhs[(b * m + i) * k + j];
        const T *row = rhs.data() + (b * k + j) * n;
        T *to = out.data() + (b * m + i) * n;
        for (int64_t l = 0; l < n; ++l)
          to[l] += factor * row[l];
      }
}

/// Letters by where they stand: in both operands and the result, in one and the result, in both alone.
struct Contraction {
  std::string batch, left, right, summed;
  explicit Contraction(const EinsumSpec &spec) {
    for (char letter : spec.letters()) {
      bool inLhs = EinsumSpec::has(spec.lhs, letter), inRhs = EinsumSpec::has(spec.rhs, letter);
      bool inResult = EinsumSpec::has(spec.result, letter);
      if (inLhs && inRhs)
        (inResult ? batch : summed) += letter;
      else if (inResult)
        (inLhs ? left : right) += letter;
    }
  }
};

Tensor einsum(EinsumOp op, const Tensor &lhs, const Tensor &rhs) {
  EinsumSpec spec = *EinsumSpec::parse(op.getSpec());
  Contraction c(spec);
  llvm::DenseMap<char, int64_t> sizes;
  for (auto [letter, size] : llvm::zip(spec.lhs, lhs.shape))
    sizes[letter] = size;
  for (auto [letter, size] : llvm::zip(spec.rhs, rhs.shape))
    sizes[letter] = size;
  auto shapeOf = [&](StringRef letters) {
    return llvm::map_to_vector(letters, [&](char letter) { return sizes[letter]; });
  };
  auto count = [&](StringRef letters) {
    int64_t product = 1;
    for (char letter : letters)
      product *= sizes[letter];
    return product;
  };
  Tensor a = arrange(lhs, spec.lhs, c.batch + c.left + c.summed);
  Tensor b = arrange(rhs, spec.rhs, c.batch + c.summed + c.right);
  std::string order = c.batch + c.left + c.right;
  Tensor product(shapeOf(order), op.getType().getElementType());
  int64_t sizesOf[] = {count(c.batch), count(c.left), count(c.right), count(c.summed)};
  if (product.isFloat())
    multiply(a.floats, b.floats, product.floats, sizesOf[0], sizesOf[1], sizesOf[2], sizesOf[3]);
  else
    multiply(a.ints, b.ints, product.ints, sizesOf[0], sizesOf[1], sizesOf[2], sizesOf[3]);
  for (int64_t &element : product.ints)
    element = wrapInteger(element, product.elementType);
  return arrange(product, order, spec.result);
}
} // namespace

void p3d::graph::combineInto(Tensor &to, const Tensor &from, ReduceKind kind) {
  for (int64_t position = 0, n = to.size(); position < n; ++position)
    ::combineInto(to, position, from, position, kind);
}

Tensor interpreter::sumOver(const Tensor &operand, ArrayRef<int64_t> dims) {
  return reduce(ReduceKind::Sum, operand, dims);
}

std::optional<Tensors> interpreter::evaluateCombining(Operation *op, Operands in) {
  return TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](ReduceOp op) { return single(reduce(op.getKind(), *in[0], op.getDims())); })
      .Case([&](CumulativeOp op) { return single(cumulative(op, *in[0])); })
      .Case([&](EinsumOp op) { return single(einsum(op, *in[0], *in[1])); })
      .Default([](Operation *) { return std::nullopt; });
}
