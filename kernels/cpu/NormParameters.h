// The scale and bias of a norm as f32, and their gradients as sums over rows.
#pragma once
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Parallel.h"
#include <vector>

namespace p3d {

/// A parameter of `cols` elements as f32; `absent` everywhere where the pointer is null.
class NormParameter {
public:
  NormParameter(int32_t dtype, const void *parameter, int64_t cols, float absent) {
    if (parameter && dtype == P3D_F32) {
      values = static_cast<const float *>(parameter);
      return;
    }
    scratch.assign(cols, absent);
    if (parameter)
      widen(dtype, parameter, scratch.data(), cols);
    values = scratch.data();
  }
  const float *data() const { return values; }

private:
  std::vector<float> scratch;
  const float *values;
};

/// Sums over rows are made in two levels, so that their error does not grow with the number of rows: of blocks of rows,
/// then of the blocks, in their order.
constexpr int64_t rowsPerBlock = 64;

/// Calls body(block, begin, end) for the blocks of rows, on all threads.
template <typename Body> void forRowBlocks(int64_t rows, Body body) {
  parallelFor((rows + rowsPerBlock - 1) / rowsPerBlock, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block)
      body(block, block * rowsPerBlock, std::min(rows, (block + 1) * rowsPerBlock));
  });
}

/// A gradient of `cols` elements, summed over rows in f32 and rounded once. Nothing is written where the pointer is
/// null.
class NormParameterGrad {
public:
  NormParameterGrad(int32_t dtype, void *grad, int64_t rows, int64_t cols)
      : dtype(dtype), grad(grad), cols(cols), sums((rows + rowsPerBlock - 1) / rowsPerBlock * cols) {}
  /// Where the kernel adds the parts of a block's rows.
  float *sumsOf(int64_t block) { return sums.data() + block * cols; }
  void finish() {
    std::vector<float> total(cols);
    for (size_t block = 0; block < sums.size(); block += total.size())
      for (int64_t c = 0; c < cols; ++c)
        total[c] += sums[block + c];
    if (grad)
      narrow(dtype, total.data(), grad, cols);
  }

private:
  int32_t dtype;
  void *grad;
  int64_t cols;
  std::vector<float> sums;
};

} // namespace p3d
