// Attention with an online softmax (FlashAttention-2, Dao 2023): a block has 64 * m queries of one head, a warp 16 * m;
// tiles of keys and values stream past them through two buffers (asynchronous copies), a tile's scores live in the
// accumulators of the tensor cores and become, in place, the left operand of the product with the values.
// Traffic: q once, k and v once per block of queries of a head (out of the second-level cache, where a head fits), o
// and lse once; no scores in memory. Blocks of the last queries, which see most keys, start first. Rows keep a running
// maximum and their lane's part of the sum; the lanes of a row meet once per tile for the maximum. 16-bit exponentials
// are the special-function unit's. Where a causally hidden score has a finite value that still counts (a row all of
// whose visible scores are as low), the hidden tiles follow in a second phase.
#include "kernels/Attention.cuh"

using namespace p3d;

extern P3D_SHARED Chunk p3dAttentionShared[];

namespace {

template <typename T, int width> class Forward {
  static constexpr AttentionTiling tiling = forwardTiling(width, sizeof(T));
  static constexpr int m = tiling.m, n = tiling.n, rows = tiling.rows();

public:
  P3D_DEVICE Forward(const p3d_attention_arguments &x, const T *k, const T *v)
      : scores(x, blockIndexZ(), blockIndexY()), firstRow((blockCount() - 1 - blockIndex()) * rows),
        warpRow(warpIndex() * 16 * m), k(k, x.t, x.hk, x.d, blockIndexZ(), blockIndexY() / (x.h / x.hk), x.aligned),
        v(v, x.t, x.hk, x.d, blockIndexZ(), blockIndexY() / (x.h / x.hk), x.aligned), queries{p3dAttentionShared} {
    for (float &max : maxima)
      max = negativeInfinity;
  }

  P3D_DEVICE void run(const T *q, T *o, float *lse) {
    P3D_SHARED BlockScratch<float> scratch;
    headOf(q).template load<rows>(queue, queries, firstRow);
    int lastRow = firstRow + rows < scores.x.s ? firstRow + rows : scores.x.s;
    int tiles = (k.length + n - 1) / n, visible = (scores.visibleKeys(lastRow - 1) + n - 1) / n;
    P3D_NO_UNROLL
    for (int phase = 0; phase < 2; ++phase) {
      if (phase == 1 && (visible == tiles || !blockAny(hiddenKeysCount(), scratch)))
        break;
      runTiles(phase == 0 ? 0 : visible, phase == 0 ? visible : tiles);
    }
    finish(headOf(o), lse + (static_cast<int64_t>(blockIndexZ()) * scores.x.h + blockIndexY()) * scores.x.s);
  }

private:
  template <typename Element> P3D_DEVICE Head<Element> headOf(Element *tensor) const {
    return {tensor, scores.x.s, scores.x.h, scores.x.d, blockIndexZ(), blockIndexY(), scores.x.aligned != 0};
  }
  P3D_DEVICE Tile<T, width> keys(int tile) const {
    return {queries.base + (rows + tile % 2 * 2 * n) * queries.rowChunks};
  }
  P3D_DEVICE Tile<T, width> values(int tile) const { return {keys(tile).base + n * queries.rowChunks}; }

  P3D_DEVICE void load(int tile) {
    k.template load<n>(queue, keys(tile), tile * n);
    v.template load<n>(queue, values(tile), tile * n);
    queue.commit();
  }

  P3D_DEVICE void runTiles(int begin, int end) {
    if (begin < end)
      load(begin);
    P3D_NO_UNROLL
    for (int tile = begin; tile < end; ++tile) {
      queue.template wait<0>();
      blockBarrier(); // the tile is there, and the other buffer was used by all
      if (tile + 1 < end)
        load(tile + 1);
      if (firstRow + warpRow < scores.x.s)
        addTile(tile);
    }
  }

  P3D_DEVICE void addTile(int tile) {
    float s[m][n / 8][4] = {};
    multiplyTransposed<m, n>(s, queries, warpRow, keys(tile));
    mask(s, tile * n);
    P3D_UNROLL
    for (int i = 0; i < 2 * m; ++i)
      addToSoftmax(s, i);
    multiply<m, n>(sums, s, values(tile));
  }

  P3D_DEVICE int rowOf(int i) const { return firstRow + warpRow + 8 * i + laneIndex() / 4; }

  /// Products become scores; keys beyond the end get -inf.
  P3D_DEVICE void mask(float (&s)[m][n / 8][4], int firstKey) const {
    bool plain = scores.isPlain(firstRow + warpRow, 16 * m, firstKey, n);
    P3D_UNROLL
    for (int i = 0; i < 2 * m; ++i)
      P3D_UNROLL
    for (int j = 0; j < n / 8; ++j)
      P3D_UNROLL
    for (int column = 0; column < 2; ++column) {
      float &score = s[i / 2][j][i % 2 * 2 + column];
      int query = rowOf(i), key = firstKey + 8 * j + laneIndex() % 4 * 2 + column;
      if (plain)
        score *= scores.x.scale;
      else
        score = key >= k.length ? negativeInfinity : query < scores.x.s ? scores.score(score, query, key) : 0.f;
    }
  }

  /// Scores of row i become exponentials relative to its new maximum, and its sums are brought to it.
  P3D_DEVICE void addToSoftmax(float (&s)[m][n / 8][4], int i) {
    float max = maxima[i];
    P3D_UNROLL
    for (int j = 0; j < n / 8; ++j)
      max = maximum(max, maximum(s[i / 2][j][i % 2 * 2], s[i / 2][j][i % 2 * 2 + 1]));
    max = maximum(max, shuffleXor(max, 1));
    max = maximum(max, shuffleXor(max, 2));
    float shift = max == negativeInfinity ? 0.f : max; // a row of -inf alone has no weight yet
    float correction = exponentialFor<T>(maxima[i] - shift), sum = 0;
    P3D_UNROLL
    for (int j = 0; j < n / 8; ++j)
      P3D_UNROLL
    for (int column = 0; column < 2; ++column)
      sum += s[i / 2][j][i % 2 * 2 + column] = exponentialFor<T>(s[i / 2][j][i % 2 * 2 + column] - shift);
    maxima[i] = max;
    weights[i] = weights[i] * correction + sum;
    if (correction == 1.f) // after the first tiles most rows keep their maximum
      return;
    P3D_UNROLL
    for (int j = 0; j < width / 8; ++j) {
      sums[i / 2][j][i % 2 * 2] *= correction;
      sums[i / 2][j][i % 2 * 2 + 1] *= correction;
    }
  }

  P3D_DEVICE bool hiddenKeysCount() const {
    bool any = false;
    P3D_UNROLL
    for (int i = 0; i < 2 * m; ++i)
      any |= rowOf(i) < scores.x.s && scores.hiddenKeysCount(maxima[i]);
    return any;
  }

  P3D_DEVICE void finish(Head<T> o, float *lse) {
    P3D_UNROLL
    for (int i = 0; i < 2 * m; ++i) {
      weights[i] += shuffleXor(weights[i], 1);
      weights[i] += shuffleXor(weights[i], 2);
      if (laneIndex() % 4 == 0 && rowOf(i) < scores.x.s)
        lse[rowOf(i)] = maxima[i] + logarithm(weights[i]);
    }
    storeRows<m, width>(sums, o, firstRow + warpRow, [&](int i) { return weights[i] == 0.f ? 0.f : 1.f / weights[i]; });
  }

  Scores scores;
  int firstRow, warpRow; // the block's first query, and the warp's among them
  Head<const T> k, v;
  CopyQueue queue;
  Tile<T, width> queries;
  float sums[m][width / 8][4] = {};
  float maxima[2 * m], weights[2 * m] = {}; // a lane's part of a row's sum of exponentials
};

} // namespace

#define P3D_DEFINE_HEAD(suffix, type, width)                                                                           \
  P3D_KERNEL_BLOCKS(128, 2)                                                                                            \
  p3d_attention_##width##_##suffix(p3d_attention_arguments x, const type *q, const type *k, const type *v, type *o,    \
                                   float *lse) {                                                                       \
    Forward<type, width>(x, k, v).run(q, o, lse);                                                                      \
  }
#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_DEFINE_HEAD(suffix, type, 32) P3D_DEFINE_HEAD(suffix, type, 64) P3D_DEFINE_HEAD(suffix, type, 128)
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
