// The scale and bias of a norm as f32, and their gradients as sums over rows.
#pragma once
#include "kernels/cpu/Element.h"
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

/// A gradient of `cols` elements, summed over rows in f32 in two levels (blocks of rows, then blocks), so that the
/// error does not grow with the number of rows, and rounded once. Nothing is written where the pointer is null.
class NormParameterGrad {
public:
  NormParameterGrad(int32_t dtype, void *grad, int64_t cols) : dtype(dtype), grad(grad), block(cols), total(cols) {}
  /// Where the kernel adds one row's part.
  float *rowSum() { return block.data(); }
  void rowDone() {
    if (++rowsInBlock == rowsPerBlock)
      flush();
  }
  void finish() {
    flush();
    if (grad)
      narrow(dtype, total.data(), grad, static_cast<int64_t>(total.size()));
  }

private:
  void flush() {
    for (size_t c = 0; c < total.size(); ++c) {
      total[c] += block[c];
      block[c] = 0;
    }
    rowsInBlock = 0;
  }

  static constexpr int rowsPerBlock = 64;
  int32_t dtype;
  void *grad;
  std::vector<float> block, total;
  int rowsInBlock = 0;
};

} // namespace p3d
