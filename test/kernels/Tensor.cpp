#include "test/kernels/Tensor.h"
#include "kernels/cpu/Element.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace p3dtest {

std::string nameOf(int32_t dtype) { return dtype == P3D_F32 ? "f32" : dtype == P3D_BF16 ? "bf16" : "f16"; }

Tensor::Tensor(int32_t dtype, int64_t count)
    : Tensor(dtype, std::vector<double>(count, std::numeric_limits<double>::quiet_NaN())) {}

Tensor::Tensor(int32_t dtype, const std::vector<double> &values)
    : dtype(dtype), bytes(values.size() * p3d::elementSize(dtype)) {
  std::vector<float> rounded(values.begin(), values.end());
  p3d::narrow(dtype, rounded.data(), bytes.data(), static_cast<int64_t>(values.size()));
}

std::vector<double> Tensor::values() const {
  std::vector<float> wide(bytes.size() / p3d::elementSize(dtype));
  p3d::widen(dtype, bytes.data(), wide.data(), static_cast<int64_t>(wide.size()));
  return {wide.begin(), wide.end()};
}

std::vector<double> skewed(int64_t count, unsigned seed, double size) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0.2, 1);
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = size * (normal(generator) + 0.5 * static_cast<double>(i) / static_cast<double>(count)) *
                (generator() % 16 == 0 ? 4 : 1);
  return values;
}

static double allowedError(double want, double largest, Tolerance tolerance, double slack) {
  return slack * (tolerance.relative * std::fabs(want) + tolerance.ofLargest * largest);
}

void expectClose(const std::vector<double> &got, const std::vector<double> &want, int32_t dtype,
                 const std::string &what, double slack) {
  expectClose(got, want, toleranceOf(dtype), what + " " + nameOf(dtype), slack);
}

void expectClose(const std::vector<double> &got, const std::vector<double> &want, Tolerance tolerance,
                 const std::string &what, double slack) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 0, worst = 0;
  for (double value : want)
    largest = std::isfinite(value) ? std::fmax(largest, std::fabs(value)) : largest;
  size_t worstAt = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
    double excess = same ? 0 : std::fabs(got[i] - want[i]) / allowedError(want[i], largest, tolerance, slack);
    if (!(excess <= worst)) { // also true for NaN
      worst = excess;
      worstAt = i;
    }
  }
  EXPECT_LE(worst, 1) << what << ": element " << worstAt << " is " << got[worstAt] << ", expected " << want[worstAt]
                      << " (largest " << largest << ")";
}

} // namespace p3dtest
