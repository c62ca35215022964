// Kernels that move memory: bytes of tensors read and written per second, beside a plain copy of the same size.
#include "kernels/Kernels.h"
#include "test/bench/Inputs.h"
#include <benchmark/benchmark.h>
#include <cmath>
#include <cstring>

using namespace p3dbench;

static const int64_t rows = 1024, cols = 1024;

static void bytes(benchmark::State &state, int64_t perIteration) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * perIteration);
}

static void copy(benchmark::State &state) {
  std::vector<char> x = tensor(P3D_F32, rows * cols), y = x;
  for (auto _ : state) {
    std::memcpy(y.data(), x.data(), x.size());
    benchmark::ClobberMemory();
  }
  bytes(state, 2 * static_cast<int64_t>(x.size()));
}
BENCHMARK(copy);

static void layerNorm(benchmark::State &state, int32_t dtype) {
  std::vector<char> x = tensor(dtype, rows * cols), y = x;
  std::vector<float> scale = floats(cols), bias = floats(cols), mean(rows), rstd(rows);
  for (auto _ : state)
    p3d_layer_norm(dtype, P3D_F32, x.data(), scale.data(), bias.data(), y.data(), mean.data(), rstd.data(), rows, cols,
                   1e-5f);
  bytes(state, 2 * static_cast<int64_t>(x.size()));
}
BENCHMARK_CAPTURE(layerNorm, f32, P3D_F32);
BENCHMARK_CAPTURE(layerNorm, bf16, P3D_BF16);

static void layerNormGrad(benchmark::State &state, int32_t dtype) {
  std::vector<char> x = tensor(dtype, rows * cols), dy = tensor(dtype, rows * cols, 2), dx = x;
  std::vector<float> scale = floats(cols), dscale(cols), dbias(cols), mean(rows, 0), rstd(rows, 1);
  for (auto _ : state)
    p3d_layer_norm_grad(dtype, P3D_F32, dy.data(), x.data(), scale.data(), mean.data(), rstd.data(), dx.data(),
                        dscale.data(), dbias.data(), rows, cols);
  bytes(state, 3 * static_cast<int64_t>(x.size()));
}
BENCHMARK_CAPTURE(layerNormGrad, f32, P3D_F32);
BENCHMARK_CAPTURE(layerNormGrad, bf16, P3D_BF16);

static void rmsNorm(benchmark::State &state, int32_t dtype) {
  std::vector<char> x = tensor(dtype, rows * cols), y = x;
  std::vector<float> scale = floats(cols), rstd(rows);
  for (auto _ : state)
    p3d_rms_norm(dtype, P3D_F32, x.data(), scale.data(), y.data(), rstd.data(), rows, cols, 1e-5f);
  bytes(state, 2 * static_cast<int64_t>(x.size()));
}
BENCHMARK_CAPTURE(rmsNorm, f32, P3D_F32);
BENCHMARK_CAPTURE(rmsNorm, bf16, P3D_BF16);

static void rmsNormGrad(benchmark::State &state, int32_t dtype) {
  std::vector<char> x = tensor(dtype, rows * cols), dy = tensor(dtype, rows * cols, 2), dx = x;
  std::vector<float> scale = floats(cols), dscale(cols), rstd(rows, 1);
  for (auto _ : state)
    p3d_rms_norm_grad(dtype, P3D_F32, dy.data(), x.data(), scale.data(), rstd.data(), dx.data(), dscale.data(), rows,
                      cols);
  bytes(state, 3 * static_cast<int64_t>(x.size()));
}
BENCHMARK_CAPTURE(rmsNormGrad, f32, P3D_F32);
BENCHMARK_CAPTURE(rmsNormGrad, bf16, P3D_BF16);

static void softmax(benchmark::State &state, int32_t dtype) {
  std::vector<char> x = tensor(dtype, rows * cols), y = x;
  for (auto _ : state)
    p3d_softmax(dtype, x.data(), y.data(), rows, cols);
  bytes(state, 2 * static_cast<int64_t>(x.size()));
}
BENCHMARK_CAPTURE(softmax, f32, P3D_F32);
BENCHMARK_CAPTURE(softmax, bf16, P3D_BF16);

/// The same with the C library's exponential, one element at a time.
static void naiveSoftmax(benchmark::State &state) {
  std::vector<float> x = floats(rows * cols), y = x;
  for (auto _ : state)
    for (int64_t r = 0; r < rows; ++r) {
      const float *from = x.data() + r * cols;
      float *to = y.data() + r * cols, max = from[0], sum = 0;
      for (int64_t c = 1; c < cols; ++c)
        max = std::max(max, from[c]);
      for (int64_t c = 0; c < cols; ++c)
        sum += to[c] = std::exp(from[c] - max);
      for (int64_t c = 0; c < cols; ++c)
        to[c] /= sum;
    }
  bytes(state, 2 * rows * cols * 4);
}
BENCHMARK(naiveSoftmax);

/// All three pieces over a GPT-2 vocabulary.
static void crossEntropy(benchmark::State &state, int32_t dtype) {
  const int64_t tokens = 64, vocabulary = 50257;
  std::vector<char> x = tensor(dtype, tokens * vocabulary), dx = x;
  std::vector<int32_t> targets(tokens, 1234);
  std::vector<float> max(tokens), sum(tokens), target(tokens), dloss(tokens, 1);
  for (auto _ : state) {
    p3d_cross_entropy_max(dtype, x.data(), max.data(), tokens, vocabulary, 0, vocabulary);
    p3d_cross_entropy_sum(dtype, x.data(), targets.data(), max.data(), sum.data(), target.data(), tokens, vocabulary, 0,
                          vocabulary);
    p3d_cross_entropy_grad(dtype, x.data(), targets.data(), max.data(), sum.data(), dloss.data(), dx.data(), tokens,
                           vocabulary, 0, vocabulary);
  }
  bytes(state, 4 * static_cast<int64_t>(x.size()));
}
BENCHMARK_CAPTURE(crossEntropy, f32, P3D_F32);
BENCHMARK_CAPTURE(crossEntropy, bf16, P3D_BF16);

static void adamw(benchmark::State &state, int32_t dtype) {
  const int64_t count = 1 << 20;
  std::vector<char> p = tensor(dtype, count);
  std::vector<float> master = floats(count), g = floats(count, 2), m(count), v(count);
  for (auto _ : state)
    p3d_adamw(dtype, p.data(), dtype == P3D_F32 ? nullptr : master.data(), g.data(), m.data(), v.data(), count, 3,
              1e-3f, 0.9f, 0.95f, 1e-8f, 0.1f, 1.f);
  bytes(state, count * (dtype == P3D_F32 ? 28 : 30));
}
BENCHMARK_CAPTURE(adamw, f32, P3D_F32);
BENCHMARK_CAPTURE(adamw, bf16, P3D_BF16);

static void squaredNorm(benchmark::State &state) {
  std::vector<float> x = floats(1 << 20);
  for (auto _ : state)
    benchmark::DoNotOptimize(p3d_squared_norm(x.data(), static_cast<int64_t>(x.size())));
  bytes(state, static_cast<int64_t>(x.size()) * 4);
}
BENCHMARK(squaredNorm);

/// The gradient of an embedding: 4096 tokens of 768 into a vocabulary of 50257.
static void scatterAdd(benchmark::State &state, int32_t dtype) {
  const int64_t tokens = 4096, width = 768, vocabulary = 50257;
  std::vector<char> updates = tensor(dtype, tokens * width), x = tensor(P3D_F32, vocabulary * width);
  std::vector<int32_t> ids(tokens);
  for (int64_t i = 0; i < tokens; ++i)
    ids[i] = static_cast<int32_t>(i * i * 31 % vocabulary);
  for (auto _ : state)
    p3d_scatter_add(dtype, P3D_F32, P3D_I32, updates.data(), ids.data(), x.data(), 1, 1, vocabulary, tokens, width, 0,
                    1);
  bytes(state, static_cast<int64_t>(updates.size()) + 8 * tokens * width);
}
BENCHMARK_CAPTURE(scatterAdd, f32, P3D_F32);
BENCHMARK_CAPTURE(scatterAdd, bf16, P3D_BF16);

/// The two of 8 experts that a router picks, and the eight best of a vocabulary.
static void topK(benchmark::State &state) {
  int64_t width = state.range(0), k = state.range(1), count = (1 << 18) / width;
  std::vector<char> x = tensor(P3D_F32, count * width);
  std::vector<float> values(count * k);
  std::vector<int32_t> indices(count * k);
  for (auto _ : state)
    p3d_top_k(P3D_F32, x.data(), values.data(), indices.data(), count, width, k);
  bytes(state, static_cast<int64_t>(x.size()));
}
BENCHMARK(topK)->Args({8, 2})->Args({32768, 8});

static void sortRows(benchmark::State &state) {
  int64_t width = state.range(0), count = (1 << 18) / width;
  std::vector<char> x = tensor(P3D_F32, count * width), values = x;
  std::vector<int32_t> indices(count * width);
  for (auto _ : state)
    p3d_sort(P3D_F32, x.data(), values.data(), indices.data(), count, width, 0);
  bytes(state, static_cast<int64_t>(x.size()));
}
BENCHMARK(sortRows)->Arg(8)->Arg(8192);
