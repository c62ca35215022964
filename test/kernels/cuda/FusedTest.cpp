// The fused kernels that only CUDA has, against their references: odd sizes, both forms of the GELU, strided halves,
// both ways of pairing in rotary embeddings.
#include "kernels/reference/Reference.h"
#include "test/kernels/Tensor.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace p3dtest;

static void checkBiasGelu(int32_t dtype, int32_t biasDtype, int64_t rows, int64_t cols, bool isExact) {
  Tensor x(dtype, skewed(rows * cols, 71)), bias(biasDtype, skewed(cols, 72)), y(dtype, rows * cols);
  p3d_cuda_bias_gelu(P3D_ON_DEVICE, dtype, biasDtype, x.data(), bias.data(), y.data(), rows, cols, isExact);
  std::vector<double> want(rows * cols), wantDbias(cols);
  reference::biasGelu(x.values().data(), bias.values().data(), want.data(), rows, cols, isExact);
  expectClose(y.values(), want, dtype, "gelu");

  Tensor dy(dtype, skewed(rows * cols, 73)), dx(dtype, rows * cols), dbias(biasDtype, cols);
  p3d_cuda_bias_gelu_grad(P3D_ON_DEVICE, dtype, biasDtype, dy.data(), x.data(), bias.data(), dx.data(), dbias.data(),
                          rows, cols, isExact);
  reference::biasGeluGrad(dy.values().data(), x.values().data(), bias.values().data(), want.data(), wantDbias.data(),
                          rows, cols, isExact);
  expectClose(dx.values(), want, dtype, "gelu gradient");
  expectClose(dbias.values(), wantDbias, biasDtype, "bias gradient", 2);
}

TEST(BiasGelu, MatchesReference) {
  for (int32_t dtype : floatTypes)
    for (int32_t biasDtype : {int32_t(P3D_F32), dtype})
      for (bool isExact : {false, true})
        for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {130, 64}, {5, 1200}, {40, 3001}})
          checkBiasGelu(dtype, biasDtype, rows, cols, isExact);
}

TEST(BiasGelu, TakesNoBias) {
  Tensor x(P3D_F32, skewed(12, 71)), y(P3D_F32, 12), zero(P3D_F32, std::vector<double>(4, 0)), want(P3D_F32, 12);
  p3d_cuda_bias_gelu(P3D_ON_DEVICE, P3D_F32, P3D_F32, x.data(), nullptr, y.data(), 3, 4, 0);
  p3d_cuda_bias_gelu(P3D_ON_DEVICE, P3D_F32, P3D_F32, x.data(), zero.data(), want.data(), 3, 4, 0);
  EXPECT_EQ(y.values(), want.values());
  p3d_cuda_bias_gelu_grad(P3D_ON_DEVICE, P3D_F32, P3D_F32, x.data(), x.data(), nullptr, y.data(), nullptr, 3, 4, 0);
  EXPECT_EQ(y.values()[0], y.values()[0]); // not NaN
}

TEST(AddBias, IsExact) {
  for (int32_t dtype : floatTypes)
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{3, 7}, {130, 64}, {5, 1200}}) {
      Tensor x(dtype, skewed(rows * cols, 71)), bias(dtype, skewed(cols, 72)), y(dtype, rows * cols);
      std::vector<double> want = x.values();
      for (int64_t i = 0; i < rows * cols; ++i)
        want[i] += bias.values()[i % cols];
      p3d_cuda_add_bias(P3D_ON_DEVICE, dtype, x.data(), bias.data(), y.data(), rows, cols);
      expectClose(y.values(), want, dtype, "sum");
      p3d_cuda_add_bias(P3D_ON_DEVICE, dtype, x.data(), bias.data(), x.data(), rows, cols);
      EXPECT_EQ(x.values(), y.values());
    }
}

TEST(SumRows, MatchesSums) {
  for (int32_t dtype : floatTypes)
    for (bool adds : {false, true})
      for (auto [rows, cols] : {std::pair<int64_t, int64_t>{3, 7}, {0, 8}, {130, 64}, {5, 1200}}) {
        Tensor x(dtype, skewed(rows * cols, 71)), sums(P3D_F32, skewed(cols, 72));
        std::vector<double> want = adds ? sums.values() : std::vector<double>(cols);
        for (int64_t i = 0; i < rows * cols; ++i)
          want[i % cols] += x.values()[i];
        p3d_cuda_sum_rows(P3D_ON_DEVICE, dtype, P3D_F32, x.data(), sums.data(), rows, cols, adds);
        expectClose(sums.values(), want, P3D_F32, "sums of rows", 2);
      }
}

/// gate and up are the halves of rows of `2 * cols`, or tensors of their own.
static void checkSwiGlu(int32_t dtype, int64_t rows, int64_t cols, bool isFused) {
  int64_t stride = isFused ? 2 * cols : cols, count = isFused ? rows * stride : 2 * rows * cols;
  int64_t up = isFused ? cols : rows * cols, bytes = dtype == P3D_F32 ? 4 : 2;
  Tensor x(dtype, skewed(count, 74)), y(dtype, rows * cols), dy(dtype, skewed(rows * cols, 75)), dx(dtype, count);
  auto half = [&](Tensor &tensor) { return static_cast<char *>(tensor.data()) + up * bytes; };
  p3d_cuda_swiglu(P3D_ON_DEVICE, dtype, x.data(), half(x), y.data(), rows, cols, stride);
  std::vector<double> values = x.values(), want(rows * cols), wantDx(count);
  reference::swiglu(values.data(), values.data() + up, want.data(), rows, cols, stride);
  expectClose(y.values(), want, dtype, "swiglu");
  p3d_cuda_swiglu_grad(P3D_ON_DEVICE, dtype, dy.data(), x.data(), half(x), dx.data(), half(dx), rows, cols, stride);
  reference::swigluGrad(dy.values().data(), values.data(), values.data() + up, wantDx.data(), wantDx.data() + up, rows,
                        cols, stride);
  expectClose(dx.values(), wantDx, dtype, "swiglu gradient");
}

TEST(SwiGlu, MatchesReference) {
  for (int32_t dtype : floatTypes)
    for (bool isFused : {false, true})
      for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {17, 64}, {2, 1001}})
        checkSwiGlu(dtype, rows, cols, isFused);
}

TEST(Rope, MatchesReference) {
  const int64_t b = 2, s = 5, h = 3, d = 14, count = b * s * h * d;
  std::vector<double> angles = skewed(s * d / 2, 76, 3), cosines, sines;
  for (double angle : angles) {
    cosines.push_back(std::cos(angle));
    sines.push_back(std::sin(angle));
  }
  Tensor c(P3D_F32, cosines), sn(P3D_F32, sines);
  for (int32_t dtype : floatTypes)
    for (bool isInterleaved : {false, true})
      for (bool inverse : {false, true}) {
        Tensor x(dtype, skewed(count, 77)), y(dtype, count);
        std::vector<double> want(count);
        reference::rope(x.values().data(), c.values().data(), sn.values().data(), want.data(), b, s, h, d,
                        isInterleaved, inverse);
        p3d_cuda_rope(P3D_ON_DEVICE, dtype, x.data(), c.floats(), sn.floats(), y.data(), b, s, h, d, isInterleaved,
                      inverse);
        expectClose(y.values(), want, dtype, "rope");
        p3d_cuda_rope(P3D_ON_DEVICE, dtype, x.data(), c.floats(), sn.floats(), x.data(), b, s, h, d, isInterleaved,
                      inverse);
        EXPECT_EQ(x.values(), y.values()) << "in place";
      }
}
