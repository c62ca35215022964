// Hand-written stages compiled to objects, linked into a shared library and run here, against the same computation in plain C++. The runtime's services are
// those of a mesh of one rank.
#include "CompiledProgram.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace {
using Vector = std::vector<float>;

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double geluSlope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

/// a [m,k] times b [k,n].
std::vector<double> product(const std::vector<double> &a, const std::vector<double> &b, int m, int k, int n) {
  std::vector<double> c(m * n);
  for (int i = 0; i < m; ++i)
    for (int p = 0; p < k; ++p)
      for (int j = 0; j < n; ++j)
        c[i * n + j] += a[i * k + p] * b[p * n + j];
  return c;
}
std::vector<double> transposed(const std::vector<double> &a, int rows, int cols) {
  std::vector<double> t(a.size());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      t[j * rows + i] = a[i * cols + j];
  return t;
}
std::vector<double> wide(const Vector &v) { return std::vector<double>(v.begin(), v.end()); }

struct Expected {
  double loss = 0;
  std::vector<double> up, down;
};

/// Loss and gradients of mean((x + gelu(x up) down - t)^2) over the whole batch.
Expected expectedStep(const Vector &x, const Vector &t, const Vector &up, const Vector &down) {
  Expected result;
  auto h = product(wide(x), wide(up), 8, 8, 16), a = h;
  for (double &value : a)
    value = gelu(value);
  auto y = product(a, wide(down), 8, 16, 8), dy = y;
  for (int i = 0; i < 64; ++i) {
    double e = y[i] + x[i] - t[i];
    result.loss += e * e / 64;
    dy[i] = e / 32;
  }
  result.down = product(transposed(a, 8, 16), dy, 16, 8, 8);
  auto dh = product(dy, transposed(wide(down), 16, 8), 8, 8, 16);
  for (int i = 0; i < 128; ++i)
    dh[i] *= geluSlope(h[i]);
  result.up = product(transposed(wide(x), 8, 8), dh, 8, 8, 16);
  return result;
}

TEST(Program, TrainsOneStep) {
  p3d::test::CompiledProgram program(P3D_INPUTS "/mlp.mlir");
  ASSERT_TRUE(program.isLoaded()) << program.error();
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto fill = [&](const char *list, const char *name, size_t count) {
    float *data = program.data<float>(list, name);
    std::generate(data, data + count, [&] { return normal(random); });
    return Vector(data, data + count);
  };
  Vector up = fill("params", "params.up", 128), down = fill("params", "params.down", 128);
  Vector x = fill("inputs", "batch.x", 64), t = fill("inputs", "batch.t", 64);
  program.runStep();
  Expected expected = expectedStep(x, t, up, down);
  EXPECT_NEAR(*program.data<float>("results", "loss"), expected.loss, 1e-5 * expected.loss);
  for (int i = 0; i < 128; ++i) {
    EXPECT_NEAR(program.gradient("params.up")[i], expected.up[i], 1e-5);
    EXPECT_NEAR(program.gradient("params.down")[i], expected.down[i], 1e-5);
  }
}
} // namespace
