// Kernels that go through rows: norms, softmax, cross-entropy.
#include "test/gpu/bench/Bench.h"

namespace p3dbench {

static int64_t bytesOf(int32_t dtype) { return dtype == P3D_F32 ? 4 : 2; }

static Work layerNorm(Memory &memory, int32_t dtype) {
  Model m = gpt2();
  int64_t count = m.tokens() * m.width;
  char *x = memory.tensor(dtype, count), *y = memory.tensor(dtype, count, 2);
  float *scale = memory.floats(m.width), *bias = memory.floats(m.width), *mean = memory.floats(m.tokens()),
        *rstd = memory.floats(m.tokens());
  return moving(memory, 2. * double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    p3d_cuda_layer_norm(bench.launcher(), bench.stream(), dtype, P3D_F32, x, scale, bias, y, mean, rstd, m.tokens(),
                        m.width, 1e-5f);
  });
}

static Work layerNormGrad(Memory &memory, int32_t dtype) {
  Model m = gpt2();
  int64_t count = m.tokens() * m.width;
  char *x = memory.tensor(dtype, count), *dy = memory.tensor(dtype, count, 2), *dx = memory.tensor(dtype, count, 3);
  float *scale = memory.floats(m.width), *dscale = memory.floats(m.width), *dbias = memory.floats(m.width),
        *mean = memory.filled(m.tokens(), 0), *rstd = memory.filled(m.tokens(), 1);
  return moving(memory, 3. * double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    p3d_cuda_layer_norm_grad(bench.launcher(), bench.stream(), dtype, P3D_F32, dy, x, scale, mean, rstd, dx, dscale,
                             dbias, m.tokens(), m.width);
  });
}

static Work rmsNorm(Memory &memory, int32_t dtype) {
  Model m = llama3();
  int64_t count = m.tokens() * m.width;
  char *x = memory.tensor(dtype, count), *y = memory.tensor(dtype, count, 2);
  float *scale = memory.floats(m.width), *rstd = memory.floats(m.tokens());
  return moving(memory, 2. * double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    p3d_cuda_rms_norm(bench.launcher(), bench.stream(), dtype, P3D_F32, x, scale, y, rstd, m.tokens(), m.width, 1e-5f);
  });
}

static Work rmsNormGrad(Memory &memory, int32_t dtype) {
  Model m = llama3();
  int64_t count = m.tokens() * m.width;
  char *x = memory.tensor(dtype, count), *dy = memory.tensor(dtype, count, 2), *dx = memory.tensor(dtype, count, 3);
  float *scale = memory.floats(m.width), *dscale = memory.floats(m.width), *rstd = memory.filled(m.tokens(), 1);
  return moving(memory, 3. * double(count * bytesOf(dtype)), [=, &bench = memory.bench] {
    p3d_cuda_rms_norm_grad(bench.launcher(), bench.stream(), dtype, P3D_F32, dy, x, scale, rstd, dx, dscale, m.tokens(),
                           m.width);
  });
}

/// Scores of four sequences, as attention without its own kernel has them.
static Work softmax(Memory &memory, int32_t dtype, bool isGradient) {
  Model m = gpt2();
  int64_t rows = 4 * m.heads * m.length, cols = m.length;
  char *x = memory.tensor(dtype, rows * cols), *dy = memory.tensor(dtype, rows * cols, 2),
       *out = memory.tensor(dtype, rows * cols, 3);
  return moving(memory, (isGradient ? 3. : 2.) * double(rows * cols * bytesOf(dtype)), [=, &bench = memory.bench] {
    if (isGradient)
      p3d_cuda_softmax_grad(bench.launcher(), bench.stream(), dtype, x, dy, out, rows, cols);
    else
      p3d_cuda_softmax(bench.launcher(), bench.stream(), dtype, x, out, rows, cols);
  });
}

namespace {
enum class Piece { Max, Sum, Grad };
}

static Work crossEntropy(Memory &memory, const Model &m, int32_t dtype, Piece piece) {
  int64_t rows = m.length, cols = m.vocabulary, bytes = rows * cols * bytesOf(dtype);
  char *logits = memory.tensor(dtype, rows * cols),
       *dx = piece == Piece::Grad ? memory.tensor(dtype, rows * cols) : nullptr;
  int32_t *targets = memory.ids(rows, cols);
  float *max = memory.filled(rows, 1), *sum = memory.filled(rows, float(cols)), *target = memory.floats(rows),
        *dloss = memory.filled(rows, 1);
  return moving(memory, double(piece == Piece::Grad ? 2 * bytes : bytes), [=, &bench = memory.bench] {
    p3d_launcher *launcher = bench.launcher();
    void *stream = bench.stream();
    switch (piece) {
    case Piece::Max:
      return p3d_cuda_cross_entropy_max(launcher, stream, dtype, logits, max, rows, cols, 0, cols);
    case Piece::Sum:
      return p3d_cuda_cross_entropy_sum(launcher, stream, dtype, logits, targets, max, sum, target, rows, cols, 0,
                                        cols);
    case Piece::Grad:
      return p3d_cuda_cross_entropy_grad(launcher, stream, dtype, logits, targets, max, sum, dloss, dx, rows, cols, 0,
                                         cols);
    }
  });
}

void addRowLines() {
  for (int32_t dtype : {P3D_F32, P3D_BF16}) {
    auto add = [dtype](const char *kernel, const char *model, auto make) {
      addLine(kernel, model + ("/" + typeName(dtype)), [=](Memory &memory) { return make(memory, dtype); });
    };
    add("p3d_cuda_layer_norm", "gpt2", layerNorm);
    add("p3d_cuda_layer_norm_grad", "gpt2", layerNormGrad);
    add("p3d_cuda_rms_norm", "llama3", rmsNorm);
    add("p3d_cuda_rms_norm_grad", "llama3", rmsNormGrad);
    add("p3d_cuda_softmax", "gpt2", [](Memory &memory, int32_t dtype) { return softmax(memory, dtype, false); });
    add("p3d_cuda_softmax_grad", "gpt2", [](Memory &memory, int32_t dtype) { return softmax(memory, dtype, true); });
    for (const Model &m : {gpt2(), llama3()}) {
      auto addPiece = [&](const char *kernel, Piece piece) {
        add(kernel, m.name, [=](Memory &memory, int32_t dtype) { return crossEntropy(memory, m, dtype, piece); });
      };
      addPiece("p3d_cuda_cross_entropy_max", Piece::Max);
      addPiece("p3d_cuda_cross_entropy_sum", Piece::Sum);
      addPiece("p3d_cuda_cross_entropy_grad", Piece::Grad);
    }
  }
}

} // namespace p3dbench
