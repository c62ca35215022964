// The functions of one float, over a range and at its edges, against the C library in double precision.
#include "CompiledProgram.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace {
double geluTanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double geluErf(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

struct Function {
  const char *name, *input;
  double (*reference)(double);
  double relative, absolute; // tolerances
};
const Function functions[] = {
    {"exp", "x", std::exp, 3e-7, 1e-37},
    {"expm1", "x", std::expm1, 3e-7, 0},
    {"tanh", "x", std::tanh, 3e-7, 0},
    {"logistic", "x", logistic, 3e-7, 1e-36},
    {"erf", "x", std::erf, 4e-7, 0},
    {"sin", "x", std::sin, 3e-7, 0},
    {"cos", "x", std::cos, 3e-7, 0},
    {"cbrt", "x", std::cbrt, 3e-7, 0},
    {"gelu_tanh", "x", geluTanh, 4e-6, 1e-9},
    {"gelu_erf", "x", geluErf, 3e-7, 5e-7},
    {"silu", "x", [](double x) { return x * logistic(x); }, 1e-6, 1e-35},
    {"round_even", "x", std::nearbyint, 0, 0},
    {"log", "p", std::log, 3e-7, 1e-7},
    {"log1p", "p", std::log1p, 3e-7, 0},
    {"sqrt", "p", std::sqrt, 2e-7, 0},
    {"rsqrt", "p", [](double x) { return 1 / std::sqrt(x); }, 3e-7, 0},
    {"erfc", "p", std::erfc, 5e-7, 1e-37},
};

TEST(Math, MatchesTheCLibrary) {
  p3d::test::CompiledProgram program(P3D_INPUTS "/math.mlir");
  ASSERT_TRUE(program.isLoaded()) << program.error();
  constexpr int count = 4096;
  float *x = program.data<float>("inputs", "x"), *p = program.data<float>("inputs", "p");
  for (int i = 0; i < count; ++i) {
    x[i] = (i - count / 2) * 0.01f + (i % 7) * 1e-3f;
    p[i] = std::ldexp(1.0f + i % 113 / 113.0f, i % 60 - 40);
  }
  const float special[] = {0.0f, -0.0f, 1e-30f, -1e-8f, 88.0f, 100.0f, -100.0f, std::numeric_limits<float>::infinity()};
  std::copy(std::begin(special), std::end(special), x);
  program.runStep();
  for (const Function &function : functions) {
    const float *in = *function.input == 'x' ? x : p, *got = program.gradient(function.name);
    double worst = 0;
    int at = 0;
    for (int i = 0; i < count; ++i) {
      double expected = function.reference(in[i]);
      if (static_cast<float>(expected) == got[i] || (std::isnan(expected) && std::isnan(got[i])) ||
          (std::abs(expected) > std::numeric_limits<float>::max() && std::isinf(got[i])))
        continue;
      double excess = (std::abs(got[i] - expected) - function.absolute) / std::abs(expected);
      if (!(excess <= worst))
        worst = excess, at = i;
    }
    EXPECT_LE(worst, function.relative) << function.name << "(" << in[at] << ") = " << got[at] << ", expected "
                                        << function.reference(in[at]);
  }
}
} // namespace
