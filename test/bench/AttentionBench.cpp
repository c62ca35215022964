// Attention of one GPT-2 layer, causal, beside the form that keeps all scores: two products for all keys and a softmax.
#include "kernels/Kernels.h"
#include "test/bench/Inputs.h"
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <cmath>

using namespace p3dbench;

namespace {
struct Layer {
  int64_t s, h = 12, d = 64;
  int64_t size() const { return s * h * d; }
  double visiblePairs() const { return h * (s * (s + 1.) / 2); }
};
} // namespace

static void flops(benchmark::State &state, double perIteration) {
  state.counters["flop/s"] = benchmark::Counter(perIteration, benchmark::Counter::kIsIterationInvariantRate);
}

static void attention(benchmark::State &state, int32_t dtype) {
  Layer x = {state.range(0)};
  std::vector<char> q = tensor(dtype, x.size()), k = tensor(dtype, x.size(), 2), v = tensor(dtype, x.size(), 3), o = q;
  std::vector<float> lse(x.h * x.s);
  for (auto _ : state)
    p3d_attention(dtype, q.data(), k.data(), v.data(), nullptr, nullptr, o.data(), lse.data(), 1, x.s, x.s, x.h, x.h,
                  x.d, 0.125f, 1, -INFINITY);
  flops(state, 4 * x.visiblePairs() * x.d);
}
BENCHMARK_CAPTURE(attention, f32, P3D_F32)->Arg(16)->Arg(128)->Arg(1024);
BENCHMARK_CAPTURE(attention, bf16, P3D_BF16)->Arg(16)->Arg(128)->Arg(1024);

static void attentionGrad(benchmark::State &state, int32_t dtype) {
  Layer x = {state.range(0)};
  std::vector<char> q = tensor(dtype, x.size()), k = tensor(dtype, x.size(), 2), v = tensor(dtype, x.size(), 3);
  std::vector<char> dO = tensor(dtype, x.size(), 4), o = q, dq = q, dk = q, dv = q;
  std::vector<float> lse(x.h * x.s);
  p3d_attention(dtype, q.data(), k.data(), v.data(), nullptr, nullptr, o.data(), lse.data(), 1, x.s, x.s, x.h, x.h, x.d,
                0.125f, 1, -INFINITY);
  for (auto _ : state)
    p3d_attention_grad(dtype, dO.data(), q.data(), k.data(), v.data(), nullptr, nullptr, o.data(), lse.data(),
                       dq.data(), dk.data(), dv.data(), 1, x.s, x.s, x.h, x.h, x.d, 0.125f, 1, -INFINITY);
  flops(state, 10 * x.visiblePairs() * x.d);
}
BENCHMARK_CAPTURE(attentionGrad, f32, P3D_F32)->Arg(16)->Arg(128)->Arg(1024);
BENCHMARK_CAPTURE(attentionGrad, bf16, P3D_BF16)->Arg(16)->Arg(128)->Arg(1024);

static void naiveAttention(benchmark::State &state) {
  Layer x = {state.range(0)};
  int s = static_cast<int>(x.s), d = static_cast<int>(x.d), stride = static_cast<int>(x.h * x.d);
  std::vector<float> q = floats(x.size()), k = floats(x.size(), 2), v = floats(x.size(), 3), o = q, p(x.s * x.s);
  for (auto _ : state)
    for (int64_t head = 0; head < x.h; ++head) {
      const float *qHead = q.data() + head * d, *kHead = k.data() + head * d, *vHead = v.data() + head * d;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s, s, d, 0.125f, qHead, stride, kHead, stride, 0, p.data(),
                  s);
      for (int64_t i = 0; i < x.s; ++i)
        std::fill_n(p.data() + i * x.s + i + 1, x.s - i - 1, -INFINITY);
      p3d_softmax(P3D_F32, p.data(), p.data(), x.s, x.s);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s, d, s, 1, p.data(), s, vHead, stride, 0,
                  o.data() + head * d, stride);
    }
  flops(state, 4 * x.visiblePairs() * x.d);
}
BENCHMARK(naiveAttention)->Arg(16)->Arg(128)->Arg(1024);
