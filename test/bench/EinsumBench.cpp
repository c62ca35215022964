// The einsum kernel against direct calls of the BLAS: the same product, so what the kernel adds is packing and loops.
#include "kernels/Kernels.h"
#include "test/bench/Inputs.h"
#include <benchmark/benchmark.h>
#include <cblas.h>

using namespace p3dbench;

static void flops(benchmark::State &state, double perIteration) {
  state.counters["flop/s"] = benchmark::Counter(perIteration, benchmark::Counter::kIsIterationInvariantRate);
}

static p3d_einsum_plan square(int64_t n) { return {0, {}, {}, {}, {}, n, n, n, n, 1, n, 1, n, 1}; }

static void einsumSquare(benchmark::State &state, int32_t dtype) {
  int64_t n = state.range(0);
  std::vector<char> a = tensor(dtype, n * n), b = tensor(dtype, n * n, 2), c = tensor(dtype, n * n);
  p3d_einsum_plan plan = square(n);
  for (auto _ : state)
    p3d_einsum(&plan, dtype, dtype, a.data(), b.data(), c.data(), 0);
  flops(state, 2. * n * n * n);
}
BENCHMARK_CAPTURE(einsumSquare, f32, P3D_F32)->Arg(2)->Arg(8)->Arg(16)->Arg(64)->Arg(512)->Arg(1024);
BENCHMARK_CAPTURE(einsumSquare, bf16, P3D_BF16)->Arg(2)->Arg(8)->Arg(16)->Arg(64)->Arg(512)->Arg(1024);

static void blasSquare(benchmark::State &state) {
  int n = static_cast<int>(state.range(0));
  std::vector<float> a = floats(n * n), b = floats(n * n, 2), c = floats(n * n);
  for (auto _ : state)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
  flops(state, 2. * n * n * n);
}
BENCHMARK(blasSquare)->Arg(2)->Arg(8)->Arg(16)->Arg(64)->Arg(512)->Arg(1024);

/// `count` products of n x n matrices in one plan, as batches of small matrices are.
static void einsumBatch(benchmark::State &state, int32_t dtype) {
  int64_t n = state.range(0), count = (1 << 18) / (n * n);
  std::vector<char> a = tensor(dtype, count * n * n), b = tensor(dtype, count * n * n, 2), c = a;
  p3d_einsum_plan plan = {1, {count}, {n * n}, {n * n}, {n * n}, n, n, n, n, 1, n, 1, n, 1};
  for (auto _ : state)
    p3d_einsum(&plan, dtype, dtype, a.data(), b.data(), c.data(), 0);
  flops(state, 2. * count * n * n * n);
}
BENCHMARK_CAPTURE(einsumBatch, f32, P3D_F32)->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Arg(16)->Arg(64);
BENCHMARK_CAPTURE(einsumBatch, bf16, P3D_BF16)->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Arg(16)->Arg(64);

/// Element-wise products: loops only. range(0) is the extent of the inner loop.
static void einsumElements(benchmark::State &state, int32_t dtype) {
  int64_t inner = state.range(0), outer = (1 << 18) / inner;
  std::vector<char> a = tensor(dtype, inner * outer), b = tensor(dtype, inner * outer, 2), c = a;
  p3d_einsum_plan plan = {2, {outer, inner}, {inner, 1}, {inner, 1}, {inner, 1}, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  for (auto _ : state)
    p3d_einsum(&plan, dtype, dtype, a.data(), b.data(), c.data(), 0);
  flops(state, 2. * inner * outer);
}
BENCHMARK_CAPTURE(einsumElements, f32, P3D_F32)->Arg(64);
BENCHMARK_CAPTURE(einsumElements, bf16, P3D_BF16)->Arg(64);

/// A weight gradient x^T dy of a bf16 layer into an f32 accumulator.
static void einsumWeightGrad(benchmark::State &state) {
  int64_t rows = 1024, in = 768, out = 768;
  std::vector<char> x = tensor(P3D_BF16, rows * in), dy = tensor(P3D_BF16, rows * out, 2);
  std::vector<float> dw = floats(in * out);
  p3d_einsum_plan plan = {0, {}, {}, {}, {}, in, out, rows, 1, in, out, 1, out, 1};
  for (auto _ : state)
    p3d_einsum(&plan, P3D_BF16, P3D_F32, x.data(), dy.data(), dw.data(), 1);
  flops(state, 2. * rows * in * out);
}
BENCHMARK(einsumWeightGrad);
