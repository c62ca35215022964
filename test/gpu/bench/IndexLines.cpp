// Kernels that follow indices, and the strided copies of collectives.
#include "test/gpu/bench/Bench.h"
#include <set>

namespace p3dbench {

static int64_t bytesOf(int32_t dtype) { return dtype == P3D_F32 ? 4 : 2; }

/// The rows of a batch's tokens out of the embedding.
static Work gather(Memory &memory, const Model &m, int32_t dtype) {
  int64_t moved = m.tokens() * m.width * bytesOf(dtype);
  char *x = memory.tensor(dtype, m.vocabulary * m.width), *out = memory.tensor(dtype, m.tokens() * m.width);
  int32_t *ids = memory.ids(m.tokens(), m.vocabulary), bytes = int32_t(bytesOf(dtype));
  return moving(memory, 2. * double(moved), [=, &bench = memory.bench] {
    p3d_cuda_gather(bench.launcher(), bench.stream(), bytes, P3D_I32, x, ids, out, 1, 1, m.vocabulary, m.tokens(),
                    m.width, -1);
  });
}

static int64_t distinct(int64_t count, int64_t limit) {
  std::set<int64_t> seen;
  for (int64_t i = 0; i < count; ++i) // as Memory::ids
    seen.insert(i * i * 31 % limit);
  return int64_t(seen.size());
}

/// The gradient of the embedding into its f32 sum: each row that is named is read and written once.
static Work scatterAdd(Memory &memory, const Model &m, int32_t dtype) {
  char *updates = memory.tensor(dtype, m.tokens() * m.width), *x = memory.tensor(P3D_F32, m.vocabulary * m.width);
  int32_t *ids = memory.ids(m.tokens(), m.vocabulary);
  double bytes =
      double(m.tokens() * m.width * bytesOf(dtype)) + 8. * double(distinct(m.tokens(), m.vocabulary) * m.width);
  return moving(memory, bytes, [=, &bench = memory.bench] {
    p3d_cuda_scatter_add(bench.launcher(), bench.stream(), dtype, P3D_F32, P3D_I32, updates, ids, x, 1, 1, m.vocabulary,
                         m.tokens(), m.width, 0, 1);
  });
}

/// The k best of `cols` in each row: of a router's experts, or of a vocabulary.
static Work topK(Memory &memory, int64_t rows, int64_t cols, int64_t k) {
  float *x = memory.floats(rows * cols), *values = memory.floats(rows * k);
  int32_t *indices = memory.ids(rows * k, cols);
  return moving(memory, 4. * double(rows * cols) + 8. * double(rows * k), [=, &bench = memory.bench] {
    p3d_cuda_top_k(bench.launcher(), bench.stream(), P3D_F32, x, values, indices, rows, cols, k);
  });
}

static Work sort(Memory &memory, int64_t rows, int64_t cols) {
  float *x = memory.floats(rows * cols), *values = memory.floats(rows * cols);
  int32_t *indices = memory.ids(rows * cols, cols);
  return moving(memory, 12. * double(rows * cols), [=, &bench = memory.bench] {
    p3d_cuda_sort(bench.launcher(), bench.stream(), P3D_F32, x, values, indices, rows, cols, 0);
  });
}

/// The left half of each row of the activations, packed, as an all-gather of columns needs it.
static Work copyBox(Memory &memory) {
  Model m = llama3();
  int64_t row = 2 * m.width, half = m.width;
  char *from = memory.tensor(P3D_BF16, m.tokens() * m.width), *to = memory.tensor(P3D_BF16, m.tokens() * m.width / 2);
  p3d_cuda_box box = {{1, 1, 1, m.tokens(), half}, {0, 0, 0, row}, {0, 0, 0, half}};
  return moving(memory, 2. * double(m.tokens() * half),
                [=, &bench = memory.bench] { p3d_cuda_copy_box(bench.launcher(), bench.stream(), &box, from, to); });
}

void addIndexLines() {
  for (int32_t dtype : {P3D_F32, P3D_BF16})
    for (const Model &m : {gpt2(), llama3()}) {
      std::string form = m.name + ("/" + typeName(dtype));
      addLine("p3d_cuda_gather", form, [=](Memory &memory) { return gather(memory, m, dtype); });
      addLine("p3d_cuda_scatter_add", form, [=](Memory &memory) { return scatterAdd(memory, m, dtype); });
    }
  int64_t tokens = llama3().tokens(), vocabulary = llama3().vocabulary;
  addLine("p3d_cuda_top_k", "2_of_8/f32", [=](Memory &memory) { return topK(memory, tokens, 8, 2); });
  addLine("p3d_cuda_top_k", "8_of_vocabulary/f32", [=](Memory &memory) { return topK(memory, 64, vocabulary, 8); });
  addLine("p3d_cuda_sort", "experts/f32", [=](Memory &memory) { return sort(memory, tokens, 8); });
  addLine("p3d_cuda_sort", "row/f32", [=](Memory &memory) { return sort(memory, 4, 2 * tokens / llama3().batch); });
  addLine("p3d_cuda_copy_box", "llama3/bf16", copyBox);
}

} // namespace p3dbench
