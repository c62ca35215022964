// Kernels on several threads: the same bits as on one, and loops from several threads at once.
#include "kernels/cpu/Parallel.h"
#include "kernels/Kernels.h"
#include "test/kernels/Tensor.h"
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

using namespace p3dtest;

namespace {
/// Leaves one thread to the tests that come after.
struct Threads {
  explicit Threads(int count) { p3d_set_threads(count); }
  ~Threads() { p3d_set_threads(1); }
};

/// The outputs of a kernel, made anew for each number of threads.
using Outputs = std::vector<Tensor>;

void expectSameBits(const std::string &what, const std::function<Outputs()> &run) {
  Outputs one = run();
  for (int count : {2, 3, 5}) {
    Threads threads(count);
    Outputs several = run();
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_EQ(one[i].values(), several[i].values()) << what << ", output " << i << ", " << count << " threads";
  }
}

p3d_einsum_plan matrixPlan(int64_t m, int64_t n, int64_t k, bool transposeA, bool transposeB) {
  p3d_einsum_plan plan = {};
  plan.m = m, plan.n = n, plan.k = k;
  plan.aM = transposeA ? 1 : k, plan.aK = transposeA ? m : 1;
  plan.bK = transposeB ? 1 : n, plan.bN = transposeB ? k : 1;
  plan.cM = n, plan.cN = 1;
  return plan;
}
} // namespace

TEST(Parallel, EachItemOnce) {
  for (int count : {1, 2, 7}) {
    Threads threads(count);
    for (int64_t items : {0, 1, 15, 16, 1000, 100003}) {
      std::vector<std::atomic<int>> done(items);
      p3d::parallelFor(items, 16, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % 16, 0);
        for (int64_t i = begin; i < end; ++i)
          ++done[i];
      });
      for (const std::atomic<int> &times : done)
        ASSERT_EQ(times, 1);
    }
  }
}

TEST(Parallel, LoopsInLoopsAndFromManyThreads) {
  Threads threads(3);
  std::atomic<int64_t> sum{0};
  auto loops = [&] {
    for (int round = 0; round < 200; ++round)
      p3d::parallelFor(20, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          p3d::parallelFor(10, 1, [&](int64_t first, int64_t last) { sum += last - first; });
      });
  };
  std::thread other(loops);
  loops();
  other.join();
  EXPECT_EQ(sum, 2 * 200 * 20 * 10);
}

TEST(Parallel, EinsumHasTheSameBits) {
  for (int32_t dtype : floatTypes)
    for (int form = 0; form < 4; ++form)
      for (auto [m, n, k] : {std::array<int64_t, 3>{515, 1030, 300}, {1100, 90, 700}, {130, 2100, 64}, {257, 193, 2048}}) {
        Tensor a(dtype, skewed(m * k, 1)), b(dtype, skewed(k * n, 2));
        p3d_einsum_plan plan = matrixPlan(m, n, k, form & 1, form & 2);
        expectSameBits("einsum " + nameOf(dtype), [&] {
          Outputs c(1, Tensor(P3D_F32, skewed(m * n, 3)));
          p3d_einsum(&plan, dtype, P3D_F32, a.data(), b.data(), c[0].data(), form == 0);
          return c;
        });
      }
}

TEST(Parallel, ProductsOfManyThreads) {
  const int64_t m = 130, n = 300, k = 64;
  auto product = [&](unsigned seed) {
    Tensor a(P3D_F32, skewed(m * k, seed)), b(P3D_F32, skewed(k * n, seed + 1)), c(P3D_F32, m * n);
    p3d_einsum_plan plan = matrixPlan(m, n, k, false, false);
    return [=]() mutable {
      p3d_einsum(&plan, P3D_F32, P3D_F32, a.data(), b.data(), c.data(), false);
      return c.values();
    };
  };
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, multiply = product(10 * thread)]() mutable {
      std::vector<double> first = multiply();
      for (int i = 0; i < 3000; ++i)
        different += multiply() != first;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(different, 0) << "products share what they should not";
}

TEST(Parallel, AttentionHasTheSameBits) {
  const int64_t b = 3, s = 70, h = 4, hk = 2, d = 32, strides[4] = {};
  Tensor q(P3D_F32, skewed(b * s * h * d, 4)), k(P3D_F32, skewed(b * s * hk * d, 5)), v(P3D_F32, skewed(b * s * hk * d, 6));
  Tensor dO(P3D_F32, skewed(b * s * h * d, 7));
  expectSameBits("attention", [&] {
    Outputs out = {Tensor(P3D_F32, b * s * h * d), Tensor(P3D_F32, b * h * s), Tensor(P3D_F32, b * s * h * d),
                   Tensor(P3D_F32, b * s * hk * d), Tensor(P3D_F32, b * s * hk * d)};
    p3d_attention(P3D_F32, q.data(), k.data(), v.data(), nullptr, strides, out[0].data(), out[1].floats(), b, s, s, h, hk, d,
                  0.2f, 1, -std::numeric_limits<float>::infinity());
    p3d_attention_grad(P3D_F32, dO.data(), q.data(), k.data(), v.data(), nullptr, strides, out[0].data(), out[1].floats(),
                       out[2].data(), out[3].data(), out[4].data(), b, s, s, h, hk, d, 0.2f, 1,
                       -std::numeric_limits<float>::infinity());
    return out;
  });
}

TEST(Parallel, RowsHaveTheSameBits) {
  const int64_t rows = 333, cols = 517;
  Tensor x(P3D_F32, skewed(rows * cols, 8)), dy(P3D_F32, skewed(rows * cols, 9)), scale(P3D_F32, skewed(cols, 10));
  Tensor dloss(P3D_F32, skewed(rows, 11));
  std::vector<int32_t> ids(rows);
  for (int64_t r = 0; r < rows; ++r)
    ids[r] = static_cast<int32_t>(r * r % 41);
  expectSameBits("layer_norm", [&] {
    Outputs out = {Tensor(P3D_F32, rows * cols), Tensor(P3D_F32, rows), Tensor(P3D_F32, rows),
                   Tensor(P3D_F32, rows * cols), Tensor(P3D_F32, cols), Tensor(P3D_F32, cols)};
    p3d_layer_norm(P3D_F32, P3D_F32, x.data(), scale.data(), scale.data(), out[0].data(), out[1].floats(), out[2].floats(),
                   rows, cols, 1e-5f);
    p3d_layer_norm_grad(P3D_F32, P3D_F32, dy.data(), x.data(), scale.data(), out[1].floats(), out[2].floats(), out[3].data(),
                        out[4].data(), out[5].data(), rows, cols);
    return out;
  });
  expectSameBits("rms_norm", [&] {
    Outputs out = {Tensor(P3D_F32, rows * cols), Tensor(P3D_F32, rows), Tensor(P3D_F32, rows * cols), Tensor(P3D_F32, cols)};
    p3d_rms_norm(P3D_F32, P3D_F32, x.data(), scale.data(), out[0].data(), out[1].floats(), rows, cols, 1e-5f);
    p3d_rms_norm_grad(P3D_F32, P3D_F32, dy.data(), x.data(), scale.data(), out[1].floats(), out[2].data(), out[3].data(), rows,
                      cols);
    return out;
  });
  expectSameBits("softmax", [&] {
    Outputs out = {Tensor(P3D_F32, rows * cols), Tensor(P3D_F32, rows * cols)};
    p3d_softmax(P3D_F32, x.data(), out[0].data(), rows, cols);
    p3d_softmax_grad(P3D_F32, out[0].data(), dy.data(), out[1].data(), rows, cols);
    return out;
  });
  expectSameBits("cross_entropy", [&] {
    Outputs out = {Tensor(P3D_F32, rows), Tensor(P3D_F32, rows), Tensor(P3D_F32, rows), Tensor(P3D_F32, rows * cols)};
    p3d_cross_entropy_max(P3D_F32, x.data(), out[0].floats(), rows, cols, 0, cols);
    p3d_cross_entropy_sum(P3D_F32, x.data(), ids.data(), out[0].floats(), out[1].floats(), out[2].floats(), rows, cols, 0, cols);
    p3d_cross_entropy_grad(P3D_F32, x.data(), ids.data(), out[0].floats(), out[1].floats(), dloss.floats(), out[3].data(), rows,
                           cols, 0, cols);
    return out;
  });
  expectSameBits("gather and scatter_add", [&] {
    Outputs out = {Tensor(P3D_F32, rows * cols), Tensor(P3D_F32, 41 * cols)};
    p3d_gather(4, P3D_I32, x.data(), ids.data(), out[0].data(), 1, 1, 41, rows, cols, -1);
    p3d_scatter_add(P3D_F32, P3D_F32, P3D_I32, dy.data(), ids.data(), out[1].data(), 1, 1, 41, rows, cols, -1, 0);
    return out;
  });
}

TEST(Parallel, OptimizersHaveTheSameBits) {
  const int64_t count = 200003;
  Tensor g(P3D_F32, skewed(count, 12));
  double one = p3d_squared_norm(g.floats(), count);
  {
    Threads threads(3);
    EXPECT_EQ(one, p3d_squared_norm(g.floats(), count));
  }
  expectSameBits("adamw", [&] {
    Outputs out = {Tensor(P3D_BF16, skewed(count, 13)), Tensor(P3D_F32, skewed(count, 13)), Tensor(P3D_F32, skewed(count, 14)),
                   Tensor(P3D_F32, std::vector<double>(count, 0.25))};
    p3d_adamw(P3D_BF16, out[0].data(), out[1].floats(), g.floats(), out[2].floats(), out[3].floats(), count, 3, 1e-2f, 0.9f,
              0.95f, 1e-8f, 0.1f, 0.5f);
    return out;
  });
  expectSameBits("sgd", [&] {
    Outputs out = {Tensor(P3D_F32, skewed(count, 13)), Tensor(P3D_F32, skewed(count, 14))};
    p3d_sgd(P3D_F32, out[0].data(), nullptr, g.floats(), out[1].floats(), count, 1e-2f, 0.9f, 0.1f, 0.5f);
    return out;
  });
}
