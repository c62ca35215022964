// Attention's gradient with respect to keys and values: a block holds 64 keys of one key head and their values; tiles
// of queries and dO, of every query head that reads this key head, stream past through two buffers. A warp has 16 keys
// and works on transposed scores, K Q^T, so that P^T and dS^T are left operands where they lie in registers. dK and dV
// are summed in f32 over all query heads in one block and rounded once: no atomics. In f32 with 128 columns, whose sums
// would not fit in registers together, even blocks make dK and odd ones dV. Traffic: k, v once, q and dO once per 64
// keys (out of the second-level cache), dk and dv once. Tiles of queries that do not see these keys are left out,
// unless a finite value for hidden scores still has weight in one of their rows.
#include "kernels/AttentionGrad.cuh"

using namespace p3d;

extern P3D_SHARED Chunk p3dAttentionGradKeyShared[];

namespace {

template <typename T, int width> class KeyGrad {
  static constexpr AttentionTiling tiling = gradTiling(width, sizeof(T));
  static constexpr int m = tiling.m, n = tiling.n, rows = tiling.rows();
  static constexpr bool isSplit = isKeyGradSplit(width, sizeof(T));

public:
  P3D_DEVICE KeyGrad(const p3d_attention_arguments &x, GradInputs<T> inputs, const float *lse, float *workspace,
                     int64_t allRows)
      : x(x), inputs(inputs), lse(lse), statistics(workspace, allRows),
        firstRow(blockIndex() / (isSplit ? 2 : 1) * rows), warpRow(warpIndex() * 16 * m), queryTiles((x.s + n - 1) / n),
        headsPerKeyHead(x.h / x.hk), keys{p3dAttentionGradKeyShared}, values{keys.base + rows * keys.rowChunks} {
    keyHeadOf(inputs.k).template load<rows>(queue, keys, firstRow);
    keyHeadOf(inputs.v).template load<rows>(queue, values, firstRow);
  }

  P3D_DEVICE void run(T *dk, T *dv) {
    int end = headsPerKeyHead * queryTiles, current = nextTile(0), buffer = 0;
    if (current < end)
      load(current, buffer);
    P3D_NO_UNROLL
    while (current < end) {
      int next = nextTile(current + 1);
      queue.template wait<0>();
      blockBarrier(); // the tile is there, and the other buffer was used by all
      if (next < end)
        load(next, 1 - buffer);
      if (firstRow + warpRow < x.t)
        addTile(current, buffer);
      current = next;
      buffer = 1 - buffer;
    }
    queue.template wait<0>(); // where there was no tile
    bool first = makesKeys();
    float scale = first ? x.scale : 1.f;
    storeRows<m, width>(sums[0], keyHeadOf(first ? dk : dv), firstRow + warpRow, [&](int) { return scale; });
    if constexpr (!isSplit)
      storeRows<m, width>(sums[1], keyHeadOf(dv), firstRow + warpRow, [&](int) { return 1.f; });
  }

private:
  template <typename Element> P3D_DEVICE Head<Element> keyHeadOf(Element *tensor) const {
    return {tensor, x.t, x.hk, x.d, blockIndexZ(), blockIndexY(), x.aligned != 0};
  }
  /// Whether the first sums are dK's; the second ones, if any, are dV's.
  P3D_DEVICE static bool makesKeys() { return !isSplit || blockIndex() % 2 == 0; }
  P3D_DEVICE int headOf(int tile) const { return blockIndexY() * headsPerKeyHead + tile / queryTiles; }
  P3D_DEVICE int64_t statisticsOf(int head) const { return (static_cast<int64_t>(blockIndexZ()) * x.h + head) * x.s; }

  P3D_DEVICE Tile<T, width> queries(int buffer) const {
    return {keys.base + (2 * rows + buffer * 2 * n) * keys.rowChunks};
  }
  P3D_DEVICE Tile<T, width> upstream(int buffer) const { return {queries(buffer).base + n * keys.rowChunks}; }

  P3D_DEVICE void load(int tile, int buffer) {
    Head<const T> q(inputs.q, x.s, x.h, x.d, blockIndexZ(), headOf(tile), x.aligned);
    Head<const T> dO(inputs.dO, x.s, x.h, x.d, blockIndexZ(), headOf(tile), x.aligned);
    q.template load<n>(queue, queries(buffer), tile % queryTiles * n);
    dO.template load<n>(queue, upstream(buffer), tile % queryTiles * n);
    queue.commit();
  }

  /// The first tile at or after `tile` whose queries give these keys any weight. All threads call it.
  P3D_DEVICE int nextTile(int tile) const {
    P3D_SHARED BlockScratch<float> scratch;
    for (; tile < headsPerKeyHead * queryTiles; ++tile) {
      Scores scores(x, blockIndexZ(), headOf(tile));
      int first = tile % queryTiles * n, last = (first + n < x.s ? first + n : x.s) - 1;
      if (!scores.isHidden(last, firstRow))
        break;
      if (x.maskedValue == negativeInfinity)
        continue;
      int query = first + threadIndex();
      bool counts = threadIndex() < n && query < x.s && scores.hiddenKeysCount(lse[statisticsOf(headOf(tile)) + query]);
      if (blockAny(counts, scratch))
        break;
    }
    return tile;
  }

  P3D_DEVICE void addTile(int tile, int buffer) {
    float p[m][n / 8][4] = {}, dp[m][n / 8][4] = {};
    multiplyTransposed<m, n>(p, keys, warpRow, queries(buffer));
    multiplyTransposed<m, n>(dp, values, warpRow, upstream(buffer));
    probabilitiesAndGrads(p, dp, headOf(tile), tile % queryTiles * n);
    if (makesKeys())
      multiply<m, n>(sums[0], dp, queries(buffer));
    else
      multiply<m, n>(sums[0], p, upstream(buffer));
    if constexpr (!isSplit)
      multiply<m, n>(sums[1], p, upstream(buffer));
  }

  /// p: products become probabilities; dp: their gradients become those of the scores, 0 where a score was replaced.
  P3D_DEVICE void probabilitiesAndGrads(float (&p)[m][n / 8][4], float (&dp)[m][n / 8][4], int head, int first) const {
    Scores scores(x, blockIndexZ(), head);
    bool plain = scores.isPlain(first, n, firstRow + warpRow, 16 * m);
    int64_t row = statisticsOf(head);
    P3D_UNROLL
    for (int j = 0; j < n / 8; ++j)
      P3D_UNROLL
    for (int column = 0; column < 2; ++column) {
      int query = first + 8 * j + laneIndex() % 4 * 2 + column;
      bool queryExists = query < x.s;
      float shift = queryExists ? statistics.shift[row + query] : 0.f;
      float factor = queryExists ? statistics.factor[row + query] : 0.f;
      float dot = queryExists ? statistics.dot[row + query] : 0.f;
      P3D_UNROLL
      for (int i = 0; i < 2 * m; ++i) {
        int key = firstRow + warpRow + 8 * i + laneIndex() / 4;
        float &probability = p[i / 2][j][i % 2 * 2 + column], &grad = dp[i / 2][j][i % 2 * 2 + column];
        bool exists = plain || (queryExists && key < x.t);
        float score = plain ? probability * x.scale : exists ? scores.score(probability, query, key) : 0.f;
        probability = exists ? exponentialFor<T>(score - shift) * factor : 0.f;
        grad = plain || !scores.isHidden(query, key) ? probability * (grad - dot) : 0.f;
      }
    }
  }

  const p3d_attention_arguments &x;
  GradInputs<T> inputs;
  const float *lse;
  RowStatistics statistics;
  int firstRow, warpRow; // the block's first key, and the warp's among them
  int queryTiles, headsPerKeyHead;
  CopyQueue queue;
  Tile<T, width> keys, values;
  float sums[isSplit ? 1 : 2][m][width / 8][4] = {};
};

} // namespace

#define P3D_DEFINE_HEAD(suffix, type, width)                                                                           \
  P3D_KERNEL_BLOCKS(128, 2)                                                                                            \
  p3d_attention_grad_key_##width##_##suffix(p3d_attention_arguments x, const type *dO, const type *q, const type *k,   \
                                            const type *v, const float *lse, float *workspace, int64_t rows, type *dk, \
                                            type *dv) {                                                                \
    KeyGrad<type, width>(x, {dO, q, k, v}, lse, workspace, rows).run(dk, dv);                                          \
  }
#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_DEFINE_HEAD(suffix, type, 32) P3D_DEFINE_HEAD(suffix, type, 64) P3D_DEFINE_HEAD(suffix, type, 128)
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
