// Attention with an online softmax (FlashAttention, Dao et al. 2022): tiles of scores are used as soon as they are
// made, so that memory does not grow with s * t. For each block of queries the running maximum and sum of each row are
// kept, and what was summed under a smaller maximum is scaled down.
#include "kernels/Kernels.h"
#include "kernels/cpu/AttentionTile.h"
#include "kernels/cpu/Parallel.h"
#include <cmath>

using namespace p3d;

namespace {

class AttentionForward {
public:
  AttentionForward(const AttentionShape &shape, int32_t dtype, const void *q, const void *k, const void *v, void *o,
                   float *lse)
      : shape(shape), dtype(dtype), q(dtype, q, shape.s, shape.h, shape.d, attentionQueries),
        k(dtype, k, shape.t, shape.hk, shape.d, shape.t), v(dtype, v, shape.t, shape.hk, shape.d, shape.t), o(o),
        lse(lse), keys(shape.t, shape.d), scores(attentionQueries * attentionKeys), sums(attentionQueries * shape.d),
        states(attentionQueries) {}

  void runKeyHead(int64_t batch, int64_t keyHead) {
    Matrix values = v.rows(batch, keyHead, 0, shape.t);
    keys.assign(k.rows(batch, keyHead, 0, shape.t));
    for (int64_t g = 0; g < shape.queriesPerKeyHead(); ++g)
      for (int64_t query = 0; query < shape.s; query += attentionQueries)
        block(batch, keyHead * shape.queriesPerKeyHead() + g, query, std::min(attentionQueries, shape.s - query),
              values);
  }

private:
  void block(int64_t batch, int64_t head, int64_t query, int64_t queries, Matrix values) {
    Matrix rows = q.rows(batch, head, query, queries);
    std::fill_n(sums.begin(), queries * shape.d, 0.f);
    std::fill(states.begin(), states.end(), RowState());
    auto addKeys = [&](int64_t key, int64_t count) {
      AttentionTile tile = {batch, head, query, queries, key, count};
      addTile(tile, rows, {values.data + key * values.stride, values.stride});
    };
    int64_t visible = shape.visibleKeys(query + queries - 1);
    forKeyTiles(0, visible, addKeys);
    bool hiddenCount = std::any_of(states.begin(), states.begin() + queries,
                                   [&](RowState row) { return shape.hiddenKeysCount(row.max); });
    if (hiddenCount)
      forKeyTiles(visible, shape.t, addKeys);
    finish(batch, head, query, queries);
  }

  void addTile(const AttentionTile &tile, Matrix rows, Matrix values) {
    scoreTile(shape, tile, rows, keys, scores.data());
    for (int64_t r = 0; r < tile.queries; ++r)
      states[r] = addToSoftmax(states[r], scores.data() + r * tile.keys, tile.keys, sums.data() + r * shape.d, shape.d);
    gemm(tile.queries, shape.d, tile.keys, 1.f, {scores.data(), tile.keys}, values, 1.f, sums.data(), shape.d);
  }

  void finish(int64_t batch, int64_t head, int64_t query, int64_t queries) {
    for (int64_t r = 0; r < queries; ++r) {
      auto [max, sum] = states[r];
      float inverse = sum == 0.f ? 0.f : 1.f / sum;
      for (int64_t c = 0; c < shape.d; ++c)
        sums[r * shape.d + c] *= inverse;
      lse[(batch * shape.h + head) * shape.s + query + r] = max + std::log(sum);
    }
    writeHead(dtype, o, shape.s, shape.h, shape.d, batch, head, query, queries, sums.data());
  }

  const AttentionShape &shape;
  int32_t dtype;
  HeadReader q, k, v;
  void *o;
  float *lse;
  TransposedHead keys;
  std::vector<float> scores, sums;
  std::vector<RowState> states;
};

} // namespace

void p3d_attention(int32_t dtype, const void *q, const void *k, const void *v, const float *mask,
                   const int64_t *maskStride, void *o, float *lse, int64_t b, int64_t s, int64_t t, int64_t h,
                   int64_t hk, int64_t d, float scale, int32_t causal, float maskedValue) {
  AttentionShape shape = {b, s, t, h, hk, d, scale, mask, maskStride, causal != 0, maskedValue};
  parallelFor(b * hk, 1, [&](int64_t begin, int64_t end) {
    AttentionForward forward(shape, dtype, q, k, v, o, lse);
    for (int64_t i = begin; i < end; ++i)
      forward.runKeyHead(i / hk, i % hk);
  });
}
