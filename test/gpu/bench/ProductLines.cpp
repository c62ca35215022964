// Einsum and attention, beside cuBLASLt. For attention these are the products of all queries with all keys, and of
// their probabilities with the values (five such for the gradient): what is left out by causality counts for the peer
// alone.
#include "test/gpu/bench/Bench.h"
#include <cmath>

namespace p3dbench {

namespace {
/// Products of matrices, one after another in memory, as an einsum's plan.
struct Product {
  int64_t count, m, n, k;
  bool transposesFirst = false, transposesSecond = false;

  double flops() const { return 2. * double(count * m * n) * double(k); }
  p3d_einsum_plan plan() const {
    p3d_einsum_plan plan{};
    plan.m = m, plan.n = n, plan.k = k;
    plan.aM = transposesFirst ? 1 : k, plan.aK = transposesFirst ? m : 1;
    plan.bK = transposesSecond ? 1 : n, plan.bN = transposesSecond ? k : 1;
    plan.cM = n, plan.cN = 1;
    if (count > 1) {
      plan.loopCount = 1;
      plan.extent[0] = count, plan.aLoop[0] = m * k, plan.bLoop[0] = k * n, plan.cLoop[0] = m * n;
    }
    return plan;
  }
};
} // namespace

/// The first product of the MLP, by the tiles that do what cuBLASLt cannot express.
static Work einsumTiles(Memory &memory, const Model &m, int32_t dtype) {
  Product product{1, m.length, m.inner, m.width};
  char *a = memory.tensor(dtype, product.m * product.k), *b = memory.tensor(dtype, product.k * product.n, 2),
       *c = memory.tensor(dtype, product.m * product.n), *d = memory.tensor(dtype, product.m * product.n);
  p3d_einsum_plan plan = product.plan();
  auto run = [=, &bench = memory.bench] {
    p3d_cuda_einsum(bench.launcher(), bench.stream(), &plan, dtype, dtype, a, b, c, 0);
  };
  return {run, product.flops(), true, "cuBLASLt", memory.bench.byCublasLt(plan, dtype, a, b, d), product.flops()};
}

/// An element-wise product: a thread per result.
static Work einsumElements(Memory &memory, int32_t dtype) {
  Model m = gpt2();
  int64_t rows = m.tokens(), cols = m.width, count = rows * cols;
  char *a = memory.tensor(dtype, count), *b = memory.tensor(dtype, count, 2), *c = memory.tensor(dtype, count);
  p3d_einsum_plan plan = {2, {rows, cols}, {cols, 1}, {cols, 1}, {cols, 1}, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  return moving(memory, double(3 * count * (dtype == P3D_F32 ? 4 : 2)), [=, &bench = memory.bench] {
    p3d_cuda_einsum(bench.launcher(), bench.stream(), &plan, dtype, dtype, a, b, c, 0);
  });
}

namespace {
/// The sequences of one call of attention, and its tensors.
struct Layer {
  Layer(Memory &memory, const Model &m, int32_t dtype)
      : b(isTiny()          ? 1
          : m.length > 1024 ? 1
                            : 8),
        s(m.length), h(m.heads), hk(m.keyHeads), d(m.headColumns), dtype(dtype), scale(1 / std::sqrt(float(d))),
        q(memory.tensor(dtype, queries())), k(memory.tensor(dtype, b * s * hk * d, 2)),
        v(memory.tensor(dtype, b * s * hk * d, 3)), o(memory.tensor(dtype, queries(), 4)),
        dO(memory.tensor(dtype, queries(), 5)), lse(memory.floats(b * h * s)) {}
  int64_t queries() const { return b * s * h * d; }
  /// Of one product, causal.
  double flops() const { return double(b * h * d) * double(s) * double(s + 1); }
  void forward(Bench &bench) const {
    p3d_cuda_attention(bench.launcher(), bench.stream(), dtype, q, k, v, nullptr, nullptr, o, lse, b, s, s, h, hk, d,
                       scale, 1, -INFINITY);
  }
  int64_t b, s, h, hk, d;
  int32_t dtype;
  float scale;
  char *q, *k, *v, *o, *dO;
  float *lse;
};

/// The products of all queries and keys that a form of attention without its own kernel makes.
struct Products {
  Products(Memory &memory, const Layer &x, bool isGradient) {
    int64_t count = x.b * x.h;
    Product scores{count, x.s, x.s, x.d, false, true}, values{count, x.s, x.d, x.s}, sums{count, x.s, x.d, x.s, true};
    char *p = memory.tensor(x.dtype, count * x.s * x.s), *key = memory.tensor(x.dtype, x.queries(), 6),
         *out = memory.tensor(x.dtype, x.queries());
    add(memory.bench, scores, x.dtype, x.q, key, p);
    if (isGradient) { // dp, dq, dk, dv
      char *dp = memory.tensor(x.dtype, count * x.s * x.s);
      add(memory.bench, scores, x.dtype, x.dO, key, dp);
      add(memory.bench, sums, x.dtype, dp, x.q, out);
      add(memory.bench, sums, x.dtype, p, x.dO, out);
    }
    add(memory.bench, values, x.dtype, p, key, out);
  }
  void add(Bench &bench, const Product &product, int32_t dtype, const void *a, const void *b, void *c) {
    calls.push_back(bench.byCublasLt(product.plan(), dtype, a, b, c));
    flops += product.flops();
  }
  std::vector<std::function<void()>> calls;
  double flops = 0;
};
} // namespace

static Work attention(Memory &memory, const Model &m, int32_t dtype, bool isGradient) {
  Layer x(memory, m, dtype);
  Products products(memory, x, isGradient);
  Bench &bench = memory.bench;
  std::function<void()> run = [x, &bench] { x.forward(bench); };
  if (isGradient) {
    x.forward(bench); // o and lse
    char *dq = memory.tensor(dtype, x.queries()), *dk = memory.tensor(dtype, x.b * x.s * x.hk * x.d),
         *dv = memory.tensor(dtype, x.b * x.s * x.hk * x.d);
    run = [=, &bench] {
      p3d_cuda_attention_grad(bench.launcher(), bench.stream(), dtype, x.dO, x.q, x.k, x.v, nullptr, nullptr, x.o,
                              x.lse, dq, dk, dv, x.b, x.s, x.s, x.h, x.hk, x.d, x.scale, 1, -INFINITY);
    };
  }
  auto peer = [products] {
    for (const std::function<void()> &call : products.calls)
      call();
  };
  std::string name = isGradient ? "five products by cuBLASLt" : "two products by cuBLASLt";
  return {run, (isGradient ? 5 : 2) * x.flops(), true, name, peer, products.flops};
}

void addProductLines() {
  for (int32_t dtype : {P3D_F32, P3D_BF16}) {
    std::string type = typeName(dtype);
    for (const Model &m : {gpt2(), llama3()}) {
      std::string form = m.name + ("/" + type);
      addLine("p3d_cuda_einsum", "tiles/" + form, [=](Memory &memory) { return einsumTiles(memory, m, dtype); });
      addLine("p3d_cuda_attention", form, [=](Memory &memory) { return attention(memory, m, dtype, false); });
      addLine("p3d_cuda_attention_grad", form, [=](Memory &memory) { return attention(memory, m, dtype, true); });
    }
    addLine("p3d_cuda_einsum", "elements/gpt2/" + type, [=](Memory &memory) { return einsumElements(memory, dtype); });
  }
}

} // namespace p3dbench
