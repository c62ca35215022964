// The gradient of attention (FlashAttention, Dao et al. 2022): tiles of probabilities are made again from the
// log-sum-exp that the forward pass kept. With P = exp(scores - lse) and D = rowsum(dO * o):
//   dV = P^T dO,  dS = P * (dO V^T - D),  dQ = scale * dS K,  dK = scale * dS^T Q.
// Key heads are the outer loop: dK and dV of a head are summed in f32 over all its query heads and rounded once.
#include "kernels/Kernels.h"
#include "kernels/cpu/AttentionTile.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"
#include <cmath>
#include <limits>

using namespace p3d;

namespace {
/// A row's probabilities are exp(scores - shift) * factor.
struct RowScale {
  float shift, factor;
};
} // namespace

P3D_VECTOR_CLONES static void probabilities(float *scores, int64_t keys, RowScale scale) {
#pragma omp simd
  for (int64_t c = 0; c < keys; ++c)
    scores[c] = expApproximate(scores[c] - scale.shift) * scale.factor;
}

P3D_VECTOR_CLONES static void scoreGrad(const float *p, float *dp, int64_t keys, float dot, float scale) {
#pragma omp simd
  for (int64_t c = 0; c < keys; ++c)
    dp[c] = p[c] * (dp[c] - dot) * scale;
}

P3D_VECTOR_CLONES static float dotProduct(const float *x, const float *y, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < count; ++c)
    sum += x[c] * y[c];
  return sum;
}

namespace {

struct AttentionTensors {
  const void *dO, *q, *k, *v, *o;
  const float *lse;
  void *dq, *dk, *dv;
};

class AttentionBackward {
public:
  AttentionBackward(const AttentionShape &shape, int32_t dtype, const AttentionTensors &x)
      : shape(shape), dtype(dtype), x(x), dO(dtype, x.dO, shape.s, shape.h, shape.d, attentionQueries),
        q(dtype, x.q, shape.s, shape.h, shape.d, attentionQueries),
        o(dtype, x.o, shape.s, shape.h, shape.d, attentionQueries), k(dtype, x.k, shape.t, shape.hk, shape.d, shape.t),
        v(dtype, x.v, shape.t, shape.hk, shape.d, shape.t), keyColumns(shape.t, shape.d),
        valueColumns(shape.t, shape.d), p(attentionQueries * attentionKeys), dp(attentionQueries * attentionKeys),
        dots(attentionQueries), scales(attentionQueries), dq(attentionQueries * shape.d), dk(shape.t * shape.d),
        dv(shape.t * shape.d) {}

  void runKeyHead(int64_t batch, int64_t keyHead) {
    Matrix keys = k.rows(batch, keyHead, 0, shape.t);
    keyColumns.assign(keys);
    valueColumns.assign(v.rows(batch, keyHead, 0, shape.t));
    std::fill(dk.begin(), dk.end(), 0.f);
    std::fill(dv.begin(), dv.end(), 0.f);
    for (int64_t g = 0; g < shape.queriesPerKeyHead(); ++g)
      for (int64_t query = 0; query < shape.s; query += attentionQueries)
        block(batch, keyHead * shape.queriesPerKeyHead() + g, query, std::min(attentionQueries, shape.s - query), keys);
    writeHead(dtype, x.dk, shape.t, shape.hk, shape.d, batch, keyHead, 0, shape.t, dk.data());
    writeHead(dtype, x.dv, shape.t, shape.hk, shape.d, batch, keyHead, 0, shape.t, dv.data());
  }

private:
  void block(int64_t batch, int64_t head, int64_t query, int64_t queries, Matrix keys) {
    Matrix rows = q.rows(batch, head, query, queries), upstream = dO.rows(batch, head, query, queries);
    Matrix result = o.rows(batch, head, query, queries);
    for (int64_t r = 0; r < queries; ++r)
      dots[r] = dotProduct(upstream.data + r * upstream.stride, result.data + r * result.stride, shape.d);
    std::fill_n(dq.begin(), queries * shape.d, 0.f);
    const float *lse = x.lse + (batch * shape.h + head) * shape.s + query;
    bool hiddenCount = std::any_of(lse, lse + queries, [&](float level) { return shape.hiddenKeysCount(level); });
    int64_t end = hiddenCount ? shape.t : shape.visibleKeys(query + queries - 1);
    scaleRows({batch, head, query, queries, 0, end}, rows, lse);
    forKeyTiles(0, end, [&](int64_t key, int64_t count) {
      AttentionTile tile = {batch, head, query, queries, key, count};
      addTile(tile, rows, upstream, {keys.data + key * keys.stride, keys.stride});
    });
    writeHead(dtype, x.dq, shape.s, shape.h, shape.d, batch, head, query, queries, dq.data());
  }

  /// How the rows of a block become probabilities. A log-sum-exp so large that f32 drops the logarithm from it (rows of
  /// padding, where every score is about -1e9) does not tell; the softmax of such a block is made again.
  void scaleRows(const AttentionTile &block, Matrix rows, const float *lse) {
    const float infinity = std::numeric_limits<float>::infinity(), tooLarge = 1024;
    bool again = false;
    for (int64_t r = 0; r < block.queries; ++r) {
      scales[r] = {lse[r] == -infinity ? infinity : lse[r], 1.f}; // a row without any weight: all probabilities 0
      again |= std::fabs(lse[r]) > tooLarge && lse[r] != -infinity;
    }
    if (!again)
      return;
    std::vector<RowState> states(block.queries);
    forKeyTiles(0, block.keys, [&](int64_t key, int64_t count) {
      AttentionTile tile = {block.batch, block.head, block.query, block.queries, key, count};
      scoreTile(shape, tile, rows, keyColumns, p.data());
      for (int64_t r = 0; r < block.queries; ++r)
        states[r] = addToSoftmax(states[r], p.data() + r * count, count, nullptr, 0);
    });
    for (int64_t r = 0; r < block.queries; ++r)
      if (lse[r] != -infinity)
        scales[r] = {states[r].max, 1.f / states[r].sum};
  }

  void addTile(const AttentionTile &tile, Matrix rows, Matrix upstream, Matrix keys) {
    int64_t m = tile.queries, n = tile.keys, d = shape.d;
    scoreTile(shape, tile, rows, keyColumns, p.data());
    gemm(m, n, d, 1.f, upstream, valueColumns.columns(tile.key), 0.f, dp.data(), n);
    for (int64_t r = 0; r < m; ++r)
      rowGrads(tile, r);
    Matrix pTransposed = {p.data(), n, true}, dsTransposed = {dp.data(), n, true};
    gemm(n, d, m, 1.f, pTransposed, upstream, 1.f, dv.data() + tile.key * d, d);
    gemm(n, d, m, 1.f, dsTransposed, rows, 1.f, dk.data() + tile.key * d, d);
    gemm(m, d, n, 1.f, {dp.data(), n}, keys, 1.f, dq.data(), d);
  }

  /// p: scores -> probabilities; dp: gradient of the probabilities -> of the scores, 0 where a score was replaced.
  void rowGrads(const AttentionTile &tile, int64_t r) {
    float *pRow = p.data() + r * tile.keys, *dpRow = dp.data() + r * tile.keys;
    probabilities(pRow, tile.keys, scales[r]);
    scoreGrad(pRow, dpRow, tile.keys, dots[r], shape.scale);
    int64_t visible = std::clamp<int64_t>(shape.visibleKeys(tile.query + r) - tile.key, 0, tile.keys);
    std::fill(dpRow + visible, dpRow + tile.keys, 0.f);
  }

  const AttentionShape &shape;
  int32_t dtype;
  const AttentionTensors &x;
  HeadReader dO, q, o, k, v;
  TransposedHead keyColumns, valueColumns;
  std::vector<float> p, dp, dots;
  std::vector<RowScale> scales;
  std::vector<float> dq, dk, dv;
};

} // namespace

void p3d_attention_grad(int32_t dtype, const void *dO, const void *q, const void *k, const void *v, const float *mask,
                        const int64_t *maskStride, const void *o, const float *lse, void *dq, void *dk, void *dv,
                        int64_t b, int64_t s, int64_t t, int64_t h, int64_t hk, int64_t d, float scale, int32_t causal,
                        float maskedValue) {
  AttentionShape shape = {b, s, t, h, hk, d, scale, mask, maskStride, causal != 0, maskedValue};
  AttentionTensors tensors = {dO, q, k, v, o, lse, dq, dk, dv};
  parallelFor(b * hk, 1, [&](int64_t begin, int64_t end) {
    AttentionBackward backward(shape, dtype, tensors);
    for (int64_t i = begin; i < end; ++i)
      backward.runKeyHead(i / hk, i % hk);
  });
}
