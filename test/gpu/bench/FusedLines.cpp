// Fused element-wise kernels.
#include "test/gpu/bench/Bench.h"

namespace p3dbench {

static int64_t bytesOf(int32_t dtype) { return dtype == P3D_F32 ? 4 : 2; }

static Work biasGelu(Memory &memory, int32_t dtype, bool isGradient) {
  Model m = gpt2();
  int64_t rows = m.tokens(), cols = m.inner, count = rows * cols;
  char *x = memory.tensor(dtype, count), *dy = isGradient ? memory.tensor(dtype, count, 2) : nullptr,
       *out = memory.tensor(dtype, count, 3), *bias = memory.tensor(dtype, cols), *dbias = memory.tensor(dtype, cols);
  return moving(memory, (isGradient ? 3. : 2.) * double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    if (isGradient)
      p3d_cuda_bias_gelu_grad(bench.launcher(), bench.stream(), dtype, dtype, dy, x, bias, out, dbias, rows, cols, 0);
    else
      p3d_cuda_bias_gelu(bench.launcher(), bench.stream(), dtype, dtype, x, bias, out, rows, cols, 0);
  });
}

static Work addBias(Memory &memory, int32_t dtype) {
  Model m = gpt2();
  int64_t rows = m.tokens(), cols = m.inner, count = rows * cols;
  char *x = memory.tensor(dtype, count), *y = memory.tensor(dtype, count, 2), *bias = memory.tensor(dtype, cols);
  return moving(memory, 2. * double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    p3d_cuda_add_bias(bench.launcher(), bench.stream(), dtype, x, bias, y, rows, cols);
  });
}

static Work sumRows(Memory &memory, int32_t dtype) {
  Model m = gpt2();
  int64_t rows = m.tokens(), cols = m.inner, count = rows * cols;
  char *x = memory.tensor(dtype, count);
  float *sums = memory.floats(cols);
  return moving(memory, double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    p3d_cuda_sum_rows(bench.launcher(), bench.stream(), dtype, P3D_F32, x, sums, rows, cols, 0);
  });
}

/// Sums of few rows, as the gradients of norms leave them.
static Work sumPartials(Memory &memory) {
  constexpr int64_t rows = 108;
  int64_t cols = gpt2().inner;
  float *partial = memory.floats(rows * cols), *sums = memory.floats(cols, 2);
  return moving(memory, double(rows * cols * 4), [=, &bench = memory.bench] {
    p3d_cuda_sum_partials(bench.launcher(), bench.stream(), P3D_F32, partial, rows, cols, sums, 0);
  });
}

static Work swiglu(Memory &memory, int32_t dtype, bool isGradient) {
  Model m = llama3();
  int64_t rows = m.tokens(), cols = m.inner, count = rows * cols;
  char *gate = memory.tensor(dtype, count), *up = memory.tensor(dtype, count, 2), *y = memory.tensor(dtype, count, 3),
       *dgate = isGradient ? memory.tensor(dtype, count) : nullptr,
       *dup = isGradient ? memory.tensor(dtype, count) : nullptr;
  return moving(memory, (isGradient ? 5. : 3.) * double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    if (isGradient)
      p3d_cuda_swiglu_grad(bench.launcher(), bench.stream(), dtype, y, gate, up, dgate, dup, rows, cols, cols);
    else
      p3d_cuda_swiglu(bench.launcher(), bench.stream(), dtype, gate, up, y, rows, cols, cols);
  });
}

static Work rope(Memory &memory, int32_t dtype) {
  Model m = llama3();
  int64_t count = m.tokens() * m.heads * m.headColumns;
  char *x = memory.tensor(dtype, count), *y = memory.tensor(dtype, count, 2);
  float *cosines = memory.floats(m.length * m.headColumns / 2), *sines = memory.floats(m.length * m.headColumns / 2, 2);
  return moving(memory, 2. * double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    p3d_cuda_rope(bench.launcher(), bench.stream(), dtype, x, cosines, sines, y, m.batch, m.length, m.heads,
                  m.headColumns, 0, 0);
  });
}

void addFusedLines() {
  addLine("p3d_cuda_sum_partials", "gpt2/f32", [=](Memory &memory) { return sumPartials(memory); });
  for (int32_t dtype : {P3D_F32, P3D_BF16}) {
    std::string type = typeName(dtype);
    for (bool isGradient : {false, true}) {
      std::string end = isGradient ? "_grad" : "";
      addLine("p3d_cuda_bias_gelu" + end, "gpt2/" + type,
              [=](Memory &memory) { return biasGelu(memory, dtype, isGradient); });
      addLine("p3d_cuda_swiglu" + end, "llama3/" + type,
              [=](Memory &memory) { return swiglu(memory, dtype, isGradient); });
    }
    addLine("p3d_cuda_add_bias", "gpt2/" + type, [=](Memory &memory) { return addBias(memory, dtype); });
    addLine("p3d_cuda_sum_rows", "gpt2/" + type, [=](Memory &memory) { return sumRows(memory, dtype); });
    addLine("p3d_cuda_rope", "llama3/" + type, [=](Memory &memory) { return rope(memory, dtype); });
  }
}

} // namespace p3dbench
