#include "passes/Memory/LinearIndex.h"
#include "llvm/ADT/STLExtras.h"

using namespace p3d::memory;

LinearIndex LinearIndex::ofLoop(unsigned loopCount, unsigned loop) {
  LinearIndex index(loopCount);
  index.loops[loop] = 1;
  return index;
}

LinearIndex LinearIndex::operator*(int64_t factor) const {
  LinearIndex result = *this;
  result.constant *= factor;
  for (int64_t &step : result.loops)
    step *= factor;
  for (auto &start : result.starts)
    start.second *= factor;
  if (factor == 0)
    result.starts.clear();
  return result;
}

LinearIndex LinearIndex::operator+(const LinearIndex &other) const {
  LinearIndex result = *this;
  result.constant += other.constant;
  for (auto [step, more] : llvm::zip(result.loops, other.loops))
    step += more;
  llvm::append_range(result.starts, other.starts);
  return result;
}

LinearIndex LinearIndex::operator+(int64_t offset) const {
  LinearIndex result = *this;
  result.constant += offset;
  return result;
}

Indices p3d::memory::identityIndices(unsigned loopCount) {
  Indices indices;
  for (unsigned loop = 0; loop < loopCount; ++loop)
    indices.push_back(LinearIndex::ofLoop(loopCount, loop));
  return indices;
}

llvm::SmallVector<int64_t> p3d::memory::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t dim = shape.size(); dim-- > 0; step *= shape[dim])
    strides[dim] = step;
  return strides;
}

LinearIndex p3d::memory::linearize(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<LinearIndex> indices,
                                   unsigned loopCount) {
  LinearIndex result(loopCount);
  for (auto [index, stride] : llvm::zip(indices, rowMajorStrides(shape)))
    result = result + index * stride;
  return result;
}
