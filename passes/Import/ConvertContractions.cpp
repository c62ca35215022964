// Products: dot, dot_general and convolutions that cut their input into patches become einsums.
#include "passes/Import/Translation.h"
#include "dialects/Graph/EinsumSpec.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// Hands out the letters of one einsum: a, b, c, ...
struct Letters {
  char next = 'a';
  std::string take(int64_t count) {
    std::string letters;
    while (count-- > 0)
      letters += next++;
    return letters;
  }
};

constexpr int kMaxLetters = 26;

/// The einsum of a product whose result has batch dimensions, free ones of lhs, free ones of rhs.
LogicalResult einsum(Operation *op, Translation &t, Dims lhsBatch, Dims rhsBatch, Dims lhsContracting, Dims rhsContracting) {
  Value lhs = t.get(op->getOperand(0)), rhs = t.get(op->getOperand(1));
  int64_t lhsRank = graph::tensorType(lhs).getRank(), rhsRank = graph::tensorType(rhs).getRank();
  if (lhsRank + rhsRank > kMaxLetters)
    return op->emitOpError() << "has operands of " << lhsRank << " and " << rhsRank << " dimensions; an einsum has letters for "
                             << kMaxLetters;
  Letters letters;
  graph::EinsumSpec spec;
  spec.lhs = letters.take(lhsRank);
  spec.rhs.assign(rhsRank, 0);
  for (auto [l, r] : llvm::zip(lhsBatch, rhsBatch)) {
    spec.rhs[r] = spec.lhs[l];
    spec.result += spec.lhs[l];
  }
  for (auto [l, r] : llvm::zip(lhsContracting, rhsContracting))
    spec.rhs[r] = spec.lhs[l];
  for (int64_t i = 0; i < lhsRank; ++i)
    if (!llvm::is_contained(lhsBatch, i) && !llvm::is_contained(lhsContracting, i))
      spec.result += spec.lhs[i];
  for (char &letter : spec.rhs)
    if (!letter)
      spec.result += letter = letters.take(1)[0];
  t.bind(op->getResult(0), t.create<graph::EinsumOp>(op->getLoc(), op->getResult(0).getType(), spec.str(), lhs, rhs));
  return success();
}

LogicalResult convertDotGeneral(stablehlo::DotGeneralOp op, Translation &t) {
  auto numbers = op.getDotDimensionNumbers();
  auto inRange = [](Dims dims, Value value) {
    return llvm::all_of(dims, [&](int64_t dim) { return dim >= 0 && dim < cast<ShapedType>(value.getType()).getRank(); });
  };
  if (numbers.getLhsBatchingDimensions().size() != numbers.getRhsBatchingDimensions().size() ||
      numbers.getLhsContractingDimensions().size() != numbers.getRhsContractingDimensions().size() ||
      !inRange(numbers.getLhsBatchingDimensions(), op.getLhs()) || !inRange(numbers.getLhsContractingDimensions(), op.getLhs()) ||
      !inRange(numbers.getRhsBatchingDimensions(), op.getRhs()) || !inRange(numbers.getRhsContractingDimensions(), op.getRhs()))
    return op.emitOpError() << "has dimension numbers that do not fit its operands";
  return einsum(op, t, numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions(),
                numbers.getLhsContractingDimensions(), numbers.getRhsContractingDimensions());
}

LogicalResult convertDot(stablehlo::DotOp op, Translation &t) {
  int64_t last = cast<ShapedType>(op.getLhs().getType()).getRank() - 1;
  if (last < 0 || cast<ShapedType>(op.getRhs().getType()).getRank() == 0)
    return op.emitOpError() << "has a scalar operand; expected vectors or matrices";
  return einsum(op, t, {}, {}, {last}, {0});
}

//===--------------------------------------------------------------------------------------------------------------===//
// Convolutions
//===--------------------------------------------------------------------------------------------------------------===//

/// Whether the windows tile the input: stride and kernel are of one size, nothing is padded, dilated, reversed or grouped.
LogicalResult checkPatches(stablehlo::ConvolutionOp op) {
  auto refuse = [&](StringRef what) {
    return op.emitOpError() << "has " << what << "; a convolution is taken only if its windows cut the input into patches (stride "
                            << "= kernel size, no padding, dilation, reversal or groups)";
  };
  auto allOnes = [](std::optional<Dims> dims) { return !dims || llvm::all_of(*dims, [](int64_t d) { return d == 1; }); };
  auto numbers = op.getDimensionNumbers();
  auto kernel = cast<ShapedType>(op.getRhs().getType());
  SmallVector<int64_t> window;
  for (int64_t dim : numbers.getKernelSpatial())
    window.push_back(kernel.getDimSize(dim));
  SmallVector<int64_t> strides(window.size(), 1);
  if (op.getWindowStrides())
    strides.assign(op.getWindowStrides()->begin(), op.getWindowStrides()->end());
  if (strides != window)
    return refuse("a stride other than its kernel's size");
  if (op.getPadding() && !llvm::all_of(op.getPadding()->getValues<int64_t>(), [](int64_t p) { return p == 0; }))
    return refuse("padding");
  if (!allOnes(op.getLhsDilation()) || !allOnes(op.getRhsDilation()))
    return refuse("dilation");
  if (op.getWindowReversal() && llvm::is_contained(*op.getWindowReversal(), true))
    return refuse("reversed windows");
  if (op.getFeatureGroupCount() != 1 || op.getBatchGroupCount() != 1)
    return refuse("groups");
  return success();
}

/// The input with each spatial dimension s cut to [s / k, k]; an einsum then sums over features and the k's.
LogicalResult convertConvolution(stablehlo::ConvolutionOp op, Translation &t) {
  if (failed(checkPatches(op)))
    return failure();
  auto numbers = op.getDimensionNumbers();
  Value input = t.get(op.getLhs()), kernel = t.get(op.getRhs());
  auto inputType = graph::tensorType(input), resultType = cast<RankedTensorType>(op.getResult().getType());
  size_t spatial = numbers.getInputSpatial().size();
  Letters letters;
  std::string batch = letters.take(1), feature = letters.take(1), output = letters.take(1);
  std::string place = letters.take(spatial), within = letters.take(spatial);

  graph::EinsumSpec spec;
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < inputType.getRank(); ++dim) {
    auto it = llvm::find(numbers.getInputSpatial(), dim);
    if (it == numbers.getInputSpatial().end()) {
      spec.lhs += dim == numbers.getInputBatch() ? batch : feature;
      shape.push_back(inputType.getDimSize(dim));
      continue;
    }
    size_t i = it - numbers.getInputSpatial().begin();
    int64_t size = graph::tensorType(kernel).getDimSize(numbers.getKernelSpatial()[i]);
    int64_t count = resultType.getDimSize(numbers.getOutputSpatial()[i]);
    input = sliceDim(t.builder, op.getLoc(), input, dim, 0, count * size);
    spec.lhs += {place[i], within[i]};
    shape.append({count, size});
  }
  input = reshape(t.builder, op.getLoc(), input, shape);
  spec.rhs.resize(spatial + 2);
  spec.result.resize(spatial + 2);
  spec.rhs[numbers.getKernelInput()] = feature[0];
  spec.rhs[numbers.getKernelOutput()] = output[0];
  spec.result[numbers.getOutputBatch()] = batch[0];
  spec.result[numbers.getOutputFeature()] = output[0];
  for (size_t i = 0; i < spatial; ++i) {
    spec.rhs[numbers.getKernelSpatial()[i]] = within[i];
    spec.result[numbers.getOutputSpatial()[i]] = place[i];
  }
  t.bind(op.getResult(), t.create<graph::EinsumOp>(op.getLoc(), resultType, spec.str(), input, kernel));
  return success();
}

} // namespace

void p3d::import::addContractionConverters(ConverterTable &table) {
  table.add<stablehlo::DotGeneralOp>(convertDotGeneral);
  table.add<stablehlo::DotOp>(convertDot);
  table.add<stablehlo::ConvolutionOp>(convertConvolution);
}
