// Optimizers and the gradient norm, over one tensor (the embedding of GPT-2) and over all parameters in one launch.
#include "test/gpu/bench/Bench.h"

namespace p3dbench {

namespace {
constexpr float lr = 1e-3f, beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, decay = 0.1f, momentum = 0.9f;

/// The states of a tensor on the device; bf16 has an f32 master.
struct States {
  States(Memory &memory, int32_t dtype, int64_t count)
      : count(count), dtype(dtype), p(memory.tensor(dtype, count)),
        master(dtype == P3D_F32 ? nullptr : memory.floats(count)), g(memory.floats(count, 2)),
        first(memory.filled(count, 0)), second(memory.filled(count, 1)) {}
  p3d_cuda_tensor entry() const { return {p, master, g, first, second, count, 0, dtype, decay}; }
  int64_t count;
  int32_t dtype;
  char *p;
  float *master, *g, *first, *second;
};

/// A launch over all parameters.
struct Table {
  const p3d_cuda_tensor *entries;
  int32_t tensors;
  int64_t blocks, count;
  p3d_cuda_step *step;
};
} // namespace

/// p, g and the states are read, all but g written.
static double bytesOfElement(int32_t dtype, int states) { return 12. + 8. * states + (dtype == P3D_F32 ? 0. : 2.); }

static int64_t embedding() { return gpt2().vocabulary * gpt2().width; }

/// GPT-2's tensors: of each layer two matrices of attention, two of the MLP, their biases, two norms; the embeddings.
static std::vector<int64_t> parameters() {
  Model m = gpt2();
  std::vector<int64_t> counts = {embedding(), m.length * m.width, m.width, m.width};
  for (int layer = 0; layer < (isTiny() ? 1 : 12); ++layer)
    counts.insert(counts.end(), {3 * m.width * m.width, 3 * m.width, m.width * m.width, m.width, m.width * m.inner,
                                 m.inner, m.inner * m.width, m.width, m.width, m.width, m.width, m.width});
  return counts;
}

static Table tableOf(Memory &memory, int32_t dtype) {
  std::vector<p3d_cuda_tensor> entries;
  int64_t count = 0;
  for (int64_t each : parameters()) {
    entries.push_back(States(memory, dtype, each).entry());
    count += each;
  }
  auto tensors = int32_t(entries.size());
  int64_t blocks = p3d_cuda_number_blocks(entries.data(), tensors);
  std::vector<p3d_cuda_step> step = {p3d_cuda_adamw_step(3, lr, beta1, beta2, 1)};
  return {memory.copyOf(entries), tensors, blocks, count, memory.copyOf(step)};
}

static Work adamw(Memory &memory, int32_t dtype) {
  States s(memory, dtype, embedding());
  return moving(memory, bytesOfElement(dtype, 2) * double(s.count), [=, &bench = memory.bench] {
    p3d_cuda_adamw(bench.launcher(), bench.stream(), dtype, s.p, s.master, s.g, s.first, s.second, s.count, 3, lr,
                   beta1, beta2, epsilon, decay, 1);
  });
}

static Work sgd(Memory &memory, int32_t dtype) {
  States s(memory, dtype, embedding());
  return moving(memory, bytesOfElement(dtype, 1) * double(s.count), [=, &bench = memory.bench] {
    p3d_cuda_sgd(bench.launcher(), bench.stream(), dtype, s.p, s.master, s.g, s.first, s.count, lr, momentum, decay, 1);
  });
}

static Work squaredNorm(Memory &memory) {
  int64_t count = embedding();
  float *x = memory.floats(count);
  auto *result = memory.copyOf(std::vector<double>(1));
  return moving(memory, 4. * double(count), [=, &bench = memory.bench] {
    p3d_cuda_squared_norm(bench.launcher(), bench.stream(), x, count, result);
  });
}

static Work adamwTable(Memory &memory, int32_t dtype) {
  Table t = tableOf(memory, dtype);
  return moving(memory, bytesOfElement(dtype, 2) * double(t.count), [=, &bench = memory.bench] {
    p3d_cuda_adamw_table(bench.launcher(), bench.stream(), t.entries, t.tensors, t.blocks, t.step, beta1, beta2,
                         epsilon);
  });
}

static Work sgdTable(Memory &memory, int32_t dtype) {
  Table t = tableOf(memory, dtype);
  return moving(memory, bytesOfElement(dtype, 1) * double(t.count), [=, &bench = memory.bench] {
    p3d_cuda_sgd_table(bench.launcher(), bench.stream(), t.entries, t.tensors, t.blocks, t.step, momentum);
  });
}

static Work squaredNormTable(Memory &memory) {
  Table t = tableOf(memory, P3D_F32);
  auto *result = memory.copyOf(std::vector<double>(1));
  return moving(memory, 4. * double(t.count), [=, &bench = memory.bench] {
    p3d_cuda_squared_norm_table(bench.launcher(), bench.stream(), t.entries, t.tensors, t.blocks, result);
  });
}

/// One number: what counts is the time of a launch.
static Work clipScale(Memory &memory) {
  auto *squaredNorm = memory.copyOf(std::vector<double>(1, 4.));
  auto *step = memory.copyOf(std::vector<p3d_cuda_step>{{lr, 1, 1, 1}});
  return moving(memory, 16, [=, &bench = memory.bench] {
    p3d_cuda_clip_scale(bench.launcher(), bench.stream(), squaredNorm, 1, 1, step);
  });
}

void addUpdateLines() {
  for (int32_t dtype : {P3D_F32, P3D_BF16}) {
    auto add = [dtype](const char *kernel, Work (*make)(Memory &, int32_t)) {
      addLine(kernel, "gpt2/" + typeName(dtype), [=](Memory &memory) { return make(memory, dtype); });
    };
    add("p3d_cuda_adamw", adamw);
    add("p3d_cuda_sgd", sgd);
    add("p3d_cuda_adamw_table", adamwTable);
    add("p3d_cuda_sgd_table", sgdTable);
  }
  addLine("p3d_cuda_squared_norm", "gpt2/f32", squaredNorm);
  addLine("p3d_cuda_squared_norm_table", "gpt2/f32", squaredNormTable);
  addLine("p3d_cuda_clip_scale", "one", clipScale);
}

} // namespace p3dbench
