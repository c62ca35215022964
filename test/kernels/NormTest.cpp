// Layer norm and RMS norm, forward and backward: odd sizes, rows whose mean is large against their spread, parameters
// of another type than the tensor.
#include "kernels/reference/Reference.h"
#include "test/kernels/Tensor.h"
#include <gtest/gtest.h>

using namespace p3dtest;

namespace {
struct NormCase {
  int64_t rows, cols;
  double offset;
};
const std::vector<NormCase> cases = {{1, 4, 0},    {3, 7, 0},     {5, 64, 0},  {131, 33, 3},
                                     {2, 1023, 0}, {70, 768, 10}, {5, 9001, 0}};
const double epsilon = 1e-5;
} // namespace

static Tensor input(int32_t dtype, const NormCase &c, unsigned seed) {
  std::vector<double> values = skewed(c.rows * c.cols, seed);
  for (double &value : values)
    value += c.offset;
  return {dtype, values};
}

static void checkLayerNorm(int32_t dtype, int32_t paramDtype, const NormCase &c) {
  Tensor x = input(dtype, c, 1), dy(dtype, skewed(c.rows * c.cols, 2));
  Tensor scale(paramDtype, skewed(c.cols, 3)), bias(paramDtype, skewed(c.cols, 4));
  Tensor y(dtype, c.rows * c.cols), mean(P3D_F32, c.rows), rstd(P3D_F32, c.rows);
  p3d_layer_norm(dtype, paramDtype, x.data(), scale.data(), bias.data(), y.data(), mean.floats(), rstd.floats(), c.rows,
                 c.cols, epsilon);
  std::vector<double> wantY(c.rows * c.cols), wantMean(c.rows), wantRstd(c.rows);
  reference::layerNorm(x.values().data(), scale.values().data(), bias.values().data(), wantY.data(), wantMean.data(),
                       wantRstd.data(), c.rows, c.cols, epsilon);
  expectClose(y.values(), wantY, dtype, "y");
  expectClose(mean.values(), wantMean, P3D_F32, "mean");
  expectClose(rstd.values(), wantRstd, P3D_F32, "rstd", 4);

  Tensor dx(dtype, c.rows * c.cols), dscale(paramDtype, c.cols), dbias(paramDtype, c.cols);
  p3d_layer_norm_grad(dtype, paramDtype, dy.data(), x.data(), scale.data(), mean.floats(), rstd.floats(), dx.data(),
                      dscale.data(), dbias.data(), c.rows, c.cols);
  std::vector<double> wantDx(c.rows * c.cols), wantDscale(c.cols), wantDbias(c.cols);
  reference::layerNormGrad(dy.values().data(), x.values().data(), scale.values().data(), mean.values().data(),
                           rstd.values().data(), wantDx.data(), wantDscale.data(), wantDbias.data(), c.rows, c.cols);
  expectClose(dx.values(), wantDx, dtype, "dx");
  expectClose(dscale.values(), wantDscale, paramDtype, "dscale");
  expectClose(dbias.values(), wantDbias, paramDtype, "dbias");
}

static void checkRmsNorm(int32_t dtype, int32_t paramDtype, const NormCase &c) {
  Tensor x = input(dtype, c, 5), dy(dtype, skewed(c.rows * c.cols, 6)), scale(paramDtype, skewed(c.cols, 7));
  Tensor y(dtype, c.rows * c.cols), rstd(P3D_F32, c.rows);
  p3d_rms_norm(dtype, paramDtype, x.data(), scale.data(), y.data(), rstd.floats(), c.rows, c.cols, epsilon);
  std::vector<double> wantY(c.rows * c.cols), wantRstd(c.rows);
  reference::rmsNorm(x.values().data(), scale.values().data(), wantY.data(), wantRstd.data(), c.rows, c.cols, epsilon);
  expectClose(y.values(), wantY, dtype, "y");
  expectClose(rstd.values(), wantRstd, P3D_F32, "rstd");

  Tensor dx(dtype, c.rows * c.cols), dscale(paramDtype, c.cols);
  p3d_rms_norm_grad(dtype, paramDtype, dy.data(), x.data(), scale.data(), rstd.floats(), dx.data(), dscale.data(),
                    c.rows, c.cols);
  std::vector<double> wantDx(c.rows * c.cols), wantDscale(c.cols);
  reference::rmsNormGrad(dy.values().data(), x.values().data(), scale.values().data(), rstd.values().data(),
                         wantDx.data(), wantDscale.data(), c.rows, c.cols);
  expectClose(dx.values(), wantDx, dtype, "dx");
  expectClose(dscale.values(), wantDscale, paramDtype, "dscale");
}

TEST(LayerNorm, MatchesReference) {
  for (int32_t dtype : floatTypes)
    for (int32_t paramDtype : {int32_t(P3D_F32), dtype})
      for (const NormCase &c : cases)
        checkLayerNorm(dtype, paramDtype, c);
}

TEST(RmsNorm, MatchesReference) {
  for (int32_t dtype : floatTypes)
    for (int32_t paramDtype : {int32_t(P3D_F32), dtype})
      for (const NormCase &c : cases)
        checkRmsNorm(dtype, paramDtype, c);
}

// A norm without bias or scale: absent parameters count as 0 and 1, absent gradients are not written.
TEST(LayerNorm, TakesAbsentParameters) {
  Tensor x(P3D_F32, skewed(12, 1)), one(P3D_F32, std::vector<double>(4, 1)), zero(P3D_F32, std::vector<double>(4, 0));
  Tensor y(P3D_F32, 12), wantY(P3D_F32, 12), dx(P3D_F32, 12), mean(P3D_F32, 3), rstd(P3D_F32, 3);
  p3d_layer_norm(P3D_F32, P3D_F32, x.data(), nullptr, nullptr, y.data(), mean.floats(), rstd.floats(), 3, 4, 1e-5f);
  p3d_layer_norm(P3D_F32, P3D_F32, x.data(), one.data(), zero.data(), wantY.data(), mean.floats(), rstd.floats(), 3, 4,
                 1e-5f);
  EXPECT_EQ(y.values(), wantY.values());
  p3d_layer_norm_grad(P3D_F32, P3D_F32, x.data(), x.data(), nullptr, mean.floats(), rstd.floats(), dx.data(), nullptr,
                      nullptr, 3, 4);
  EXPECT_EQ(dx.values()[0], dx.values()[0]); // not NaN
}

// An output may take the place of an input of the same shape.
TEST(LayerNorm, RunsInPlace) {
  Tensor x(P3D_BF16, skewed(3 * 9, 1)), scale(P3D_F32, skewed(9, 2)), y(P3D_BF16, 3 * 9);
  Tensor mean(P3D_F32, 3), rstd(P3D_F32, 3);
  for (Tensor *out : {&y, &x})
    p3d_layer_norm(P3D_BF16, P3D_F32, x.data(), scale.data(), nullptr, out->data(), mean.floats(), rstd.floats(), 3, 9,
                   1e-5f);
  EXPECT_EQ(x.values(), y.values());
}
