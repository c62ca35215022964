#include "Conditioning.h"
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;
using graph::Tensor;

namespace {
constexpr double kGap = 1e-4;

bool isNear(double a, double b) { return std::fabs(a - b) < kGap; }

/// Whether one of the elements is near to what `jump` gives for it.
template <typename Fn> bool anyNear(const Tensor &tensor, Fn jump) {
  return llvm::any_of(tensor.floats, [&](double x) { return isNear(x, jump(x)); });
}

bool anyNear(const Tensor &a, const Tensor &b) {
  for (auto [x, y] : llvm::zip(a.floats, b.floats))
    if (isNear(x, y))
      return true;
  return false;
}

/// Whether two elements on one line along the dimensions `along` are near to each other.
bool anyNearOnLine(const Tensor &tensor, ArrayRef<int64_t> along) {
  SmallVector<int64_t> strides = tensor.strides();
  for (int64_t dim : along)
    strides[dim] = 0;
  llvm::DenseMap<int64_t, std::vector<double>> lines;
  graph::interpreter::forEachIndex(tensor.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    if (tensor.isFloat())
      lines[graph::interpreter::positionOf(index, strides)].push_back(tensor.floats[position]);
  });
  for (auto &[start, line] : lines) {
    llvm::sort(line);
    for (size_t i = 1; i < line.size(); ++i)
      if (isNear(line[i - 1], line[i]))
        return true;
  }
  return false;
}

double nearestInteger(double x) { return std::nearbyint(x); }
double nearestHalf(double x) { return std::floor(x) + 0.5; }
bool isOrder(graph::ReduceKind kind) { return kind == graph::ReduceKind::Max || kind == graph::ReduceKind::Min; }
} // namespace

bool p3d::fuzz::isNearJump(Operation *op, ArrayRef<const Tensor *> in, ArrayRef<Tensor>) {
  auto lastDim = [&] { return int64_t(in[0]->rank() - 1); };
  return TypeSwitch<Operation *, bool>(op)
      .Case<graph::FloorOp, graph::CeilOp>([&](auto) { return anyNear(*in[0], nearestInteger); })
      .Case([&](graph::RoundEvenOp) { return anyNear(*in[0], nearestHalf); })
      .Case<graph::AbsOp, graph::SignOp>([&](auto) { return anyNear(*in[0], [](double) { return 0.0; }); })
      .Case([&](graph::ConvertOp op) { return !isa<FloatType>(op.getType().getElementType()) && anyNear(*in[0], nearestInteger); })
      .Case<graph::MaxOp, graph::MinOp, graph::CompareOp>([&](auto) { return anyNear(*in[0], *in[1]); })
      .Case([&](graph::RemOp) {
        for (auto [a, b] : llvm::zip(in[0]->floats, in[1]->floats))
          if (isNear(a / b, nearestInteger(a / b)))
            return true;
        return false;
      })
      .Case([&](graph::ReduceOp op) { return isOrder(op.getKind()) && anyNearOnLine(*in[0], op.getDims()); })
      .Case([&](graph::CumulativeOp op) { return isOrder(op.getKind()) && anyNearOnLine(*in[0], {int64_t(op.getDim())}); })
      .Case<graph::TopKOp, graph::SortOp>([&](auto) { return anyNearOnLine(*in[0], {lastDim()}); })
      .Default([](Operation *) { return false; });
}
