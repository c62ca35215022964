// Attention's gradient with respect to the queries: a block holds 64 queries of one head and their dO, tiles of keys
// and values stream past through two buffers, and scores are made again tile by tile from the row's statistics. dQ is
// summed in one block, in the order of the keys: no atomics, so that every run gives the same bits, at the price of
// making scores and dO V^T a second time in the kernel for dK and dV (7 products instead of 5). Traffic: q, dO once, k
// and v once per 64 queries of a head (out of the second-level cache), dq once. Hidden scores have no gradient: their
// tiles are left out.
#include "kernels/AttentionGrad.cuh"

using namespace p3d;

extern P3D_SHARED Chunk p3dAttentionGradQueryShared[];

namespace {

template <typename T, int width> class QueryGrad {
  static constexpr AttentionTiling tiling = gradTiling(width, sizeof(T));
  static constexpr int m = tiling.m, n = tiling.n, rows = tiling.rows();

public:
  P3D_DEVICE QueryGrad(const p3d_attention_arguments &x, GradInputs<T> inputs, float *workspace, int64_t allRows)
      : scores(x, blockIndexZ(), blockIndexY()), firstRow((blockCount() - 1 - blockIndex()) * rows),
        warpRow(warpIndex() * 16 * m),
        k(inputs.k, x.t, x.hk, x.d, blockIndexZ(), blockIndexY() / (x.h / x.hk), x.aligned),
        v(inputs.v, x.t, x.hk, x.d, blockIndexZ(), blockIndexY() / (x.h / x.hk), x.aligned),
        queries{p3dAttentionGradQueryShared}, upstream{queries.base + rows * queries.rowChunks} {
    headOf(inputs.q).template load<rows>(queue, queries, firstRow);
    headOf(inputs.dO).template load<rows>(queue, upstream, firstRow);
    RowStatistics statistics(workspace, allRows);
    int64_t head = (static_cast<int64_t>(blockIndexZ()) * x.h + blockIndexY()) * x.s;
    P3D_UNROLL
    for (int i = 0; i < 2 * m; ++i) {
      bool exists = rowOf(i) < x.s;
      shifts[i] = exists ? statistics.shift[head + rowOf(i)] : 0.f;
      factors[i] = exists ? statistics.factor[head + rowOf(i)] : 0.f;
      dots[i] = exists ? statistics.dot[head + rowOf(i)] : 0.f;
    }
  }

  P3D_DEVICE void run(T *dq) {
    int lastRow = firstRow + rows < scores.x.s ? firstRow + rows : scores.x.s;
    int tiles = (scores.visibleKeys(lastRow - 1) + n - 1) / n;
    if (tiles > 0)
      load(0);
    P3D_NO_UNROLL
    for (int tile = 0; tile < tiles; ++tile) {
      queue.template wait<0>();
      blockBarrier(); // the tile is there, and the other buffer was used by all
      if (tile + 1 < tiles)
        load(tile + 1);
      if (firstRow + warpRow < scores.x.s)
        addTile(tile);
    }
    queue.template wait<0>(); // where there was no tile
    storeRows<m, width>(sums, headOf(dq), firstRow + warpRow, [&](int) { return scores.x.scale; });
  }

private:
  template <typename Element> P3D_DEVICE Head<Element> headOf(Element *tensor) const {
    return {tensor, scores.x.s, scores.x.h, scores.x.d, blockIndexZ(), blockIndexY(), scores.x.aligned != 0};
  }
  P3D_DEVICE Tile<T, width> keys(int tile) const {
    return {queries.base + (2 * rows + tile % 2 * 2 * n) * queries.rowChunks};
  }
  P3D_DEVICE Tile<T, width> values(int tile) const { return {keys(tile).base + n * queries.rowChunks}; }

  P3D_DEVICE void load(int tile) {
    k.template load<n>(queue, keys(tile), tile * n);
    v.template load<n>(queue, values(tile), tile * n);
    queue.commit();
  }

  P3D_DEVICE void addTile(int tile) {
    float p[m][n / 8][4] = {}, dp[m][n / 8][4] = {};
    multiplyTransposed<m, n>(p, queries, warpRow, keys(tile));
    multiplyTransposed<m, n>(dp, upstream, warpRow, values(tile));
    scoreGrads(p, dp, tile * n);
    multiply<m, n>(sums, dp, keys(tile));
  }

  P3D_DEVICE int rowOf(int i) const { return firstRow + warpRow + 8 * i + laneIndex() / 4; }

  /// dp becomes the gradient of the scores, 0 where there is none; p: products.
  P3D_DEVICE void scoreGrads(const float (&p)[m][n / 8][4], float (&dp)[m][n / 8][4], int firstKey) const {
    bool plain = scores.isPlain(firstRow + warpRow, 16 * m, firstKey, n);
    P3D_UNROLL
    for (int i = 0; i < 2 * m; ++i)
      P3D_UNROLL
    for (int j = 0; j < n / 8; ++j)
      P3D_UNROLL
    for (int column = 0; column < 2; ++column) {
      float product = p[i / 2][j][i % 2 * 2 + column], &grad = dp[i / 2][j][i % 2 * 2 + column];
      int query = rowOf(i), key = firstKey + 8 * j + laneIndex() % 4 * 2 + column;
      bool exists = plain || (query < scores.x.s && key < k.length && !scores.isHidden(query, key));
      float score = plain ? product * scores.x.scale : exists ? scores.score(product, query, key) : 0.f;
      grad = exists ? exponentialFor<T>(score - shifts[i]) * factors[i] * (grad - dots[i]) : 0.f;
    }
  }

  Scores scores;
  int firstRow, warpRow;
  Head<const T> k, v;
  CopyQueue queue;
  Tile<T, width> queries, upstream;
  float sums[m][width / 8][4] = {};
  float shifts[2 * m], factors[2 * m], dots[2 * m];
};

} // namespace

#define P3D_DEFINE_HEAD(suffix, type, width)                                                                           \
  P3D_KERNEL_BLOCKS(128, 2)                                                                                            \
  p3d_attention_grad_query_##width##_##suffix(p3d_attention_arguments x, const type *dO, const type *q, const type *k, \
                                              const type *v, float *workspace, int64_t rows, type *dq) {               \
    QueryGrad<type, width>(x, {dO, q, k, v}, workspace, rows).run(dq);                                                 \
  }
#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_DEFINE_HEAD(suffix, type, 32) P3D_DEFINE_HEAD(suffix, type, 64) P3D_DEFINE_HEAD(suffix, type, 128)
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
