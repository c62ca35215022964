// Rounding to the 16-bit types, and the exponential that softmax, cross-entropy and attention share.
#include "kernels/Kernels.h"
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Vector.h"
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

static float rounded(int32_t dtype, float value) {
  uint16_t bits;
  float back;
  p3d::narrow(dtype, &value, &bits, 1);
  p3d::widen(dtype, &bits, &back, 1);
  return back;
}

TEST(Element, RoundsBf16ToNearestEven) {
  EXPECT_EQ(rounded(P3D_BF16, 1.f + 1.f / 256), 1.f);             // halfway, down to the even
  EXPECT_EQ(rounded(P3D_BF16, 1.f + 3.f / 256), 1.f + 4.f / 256); // halfway, up to the even
  EXPECT_EQ(rounded(P3D_BF16, 1.f + 1.01f / 256), 1.f + 2.f / 256);
  EXPECT_EQ(rounded(P3D_BF16, 3.4e38f), INFINITY);
  EXPECT_EQ(rounded(P3D_BF16, -INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(rounded(P3D_BF16, p3d::fromBits(0x7fffffffu))));
  EXPECT_TRUE(std::isnan(rounded(P3D_BF16, p3d::fromBits(0x7f800001u))));
  EXPECT_TRUE(std::signbit(rounded(P3D_BF16, -0.f)));
}

TEST(Element, EveryBf16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint16_t from = static_cast<uint16_t>(bits), to;
    float wide;
    p3d::widen(P3D_BF16, &from, &wide, 1);
    p3d::narrow(P3D_BF16, &wide, &to, 1);
    EXPECT_TRUE(from == to || (std::isnan(wide) && (from | 0x40) == to)) << bits;
  }
}

TEST(Element, RoundsF16) {
  EXPECT_EQ(rounded(P3D_F16, 1.f + 1.f / 2048), 1.f);
  EXPECT_EQ(rounded(P3D_F16, 65520.f), INFINITY);
  EXPECT_EQ(rounded(P3D_F16, 5.9604645e-8f), 5.9604645e-8f); // the smallest subnormal
}

TEST(Exp, IsAccurate) {
  for (int i = -870000; i <= 887000; i += 7) {
    float x = static_cast<float>(i) * 1e-4f;
    double want = std::exp(static_cast<double>(x));
    ASSERT_NEAR(p3d::expApproximate(x), want, 1.5e-7 * want) << x;
  }
  EXPECT_EQ(p3d::expApproximate(0.f), 1.f);
  EXPECT_EQ(p3d::expApproximate(-INFINITY), 0.f);
  EXPECT_EQ(p3d::expApproximate(-1e30f), 0.f);
  EXPECT_EQ(p3d::expApproximate(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(p3d::expApproximate(NAN)));
  EXPECT_NEAR(p3d::expApproximate(-100.f), std::exp(-100.), 1e-45); // subnormal
}

/// A type that a kernel does not have is a bug of the compiler, told by name before anything is written.
TEST(ElementDeathTest, RefusesOtherTypes) {
  float value = 0;
  int64_t id = 0;
  EXPECT_DEATH(p3d_softmax(P3D_F64, &value, &value, 1, 1), "p3d kernels: .* has no form for element type 3");
  EXPECT_DEATH(p3d::elementSize(P3D_I1), "p3d kernels: a floating-point kernel has no form for element type 8");
  EXPECT_DEATH(p3d::widen(P3D_I32, &value, &value, 1), "p3d kernels: widen has no form for element type 4");
  EXPECT_DEATH(p3d::narrow(P3D_I32, &value, &value, 1), "p3d kernels: narrow has no form for element type 4");
  EXPECT_DEATH(p3d_top_k(P3D_I8, &value, &value, nullptr, 1, 1, 1), "p3d kernels: p3d_top_k has no form for element type 9");
  EXPECT_DEATH(p3d_gather(4, P3D_F32, &value, &id, &value, 1, 1, 1, 1, 1, -1),
               "p3d kernels: an index of gather or scatter_add has no form for element type 0");
  EXPECT_DEATH(p3d_adamw(P3D_BF16, &value, nullptr, &value, &value, &value, 1, 1, 0, 0, 0, 0, 0, 1),
               "p3d kernels: p3d_adamw without a master has no form for element type 1");
  EXPECT_DEATH(p3d_sgd(P3D_BF16, &value, nullptr, &value, nullptr, 1, 0, 0, 0, 1),
               "p3d kernels: p3d_sgd without a master has no form for element type 1");
}
