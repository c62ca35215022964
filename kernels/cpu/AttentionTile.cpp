// The tiles of scores of AttentionTile.h.
#include "kernels/cpu/AttentionTile.h"
#include "kernels/cpu/Vector.h"

namespace p3d {

static void addMask(const AttentionShape &shape, const AttentionTile &tile, float *scores) {
  const int64_t *stride = shape.maskStride;
  const float *corner = shape.mask + tile.batch * stride[0] + tile.head * stride[1] + tile.key * stride[3];
  for (int64_t r = 0; r < tile.queries; ++r) {
    const float *row = corner + (tile.query + r) * stride[2];
    for (int64_t c = 0; c < tile.keys; ++c)
      scores[r * tile.keys + c] += row[c * stride[3]];
  }
}

static void hideFutureKeys(const AttentionShape &shape, const AttentionTile &tile, float *scores) {
  for (int64_t r = 0; r < tile.queries; ++r) {
    int64_t visible = std::clamp<int64_t>(shape.visibleKeys(tile.query + r) - tile.key, 0, tile.keys);
    std::fill(scores + r * tile.keys + visible, scores + (r + 1) * tile.keys, shape.maskedValue);
  }
}

// y[cols][rows] = x[rows][cols], 16 rows at a time: a line of the cache of y is written whole.
P3D_VECTOR_CLONES static void transpose(const float *x, int64_t xStride, int64_t rows, int64_t cols, float *y) {
  constexpr int64_t side = 16;
  int64_t row = 0;
  for (; row + side <= rows; row += side)
    for (int64_t c = 0; c < cols; ++c) {
#pragma omp simd
      for (int64_t r = 0; r < side; ++r)
        y[c * rows + row + r] = x[(row + r) * xStride + c];
    }
  for (; row < rows; ++row)
    for (int64_t c = 0; c < cols; ++c)
      y[c * rows + row] = x[row * xStride + c];
}

void TransposedHead::assign(Matrix rows) {
  forKeyTiles(0, length, [&](int64_t key, int64_t keys) {
    transpose(rows.data + key * rows.stride, rows.stride, keys, d, tiles.data() + key * d);
  });
}

void scoreTile(const AttentionShape &shape, const AttentionTile &tile, Matrix q, const TransposedHead &k,
               float *scores) {
  gemm(tile.queries, tile.keys, shape.d, shape.scale, q, k.columns(tile.key), 0.f, scores, tile.keys);
  if (shape.mask)
    addMask(shape, tile, scores);
  if (shape.causal)
    hideFutureKeys(shape, tile, scores);
}

P3D_VECTOR_CLONES RowState addToSoftmax(RowState state, float *scores, int64_t keys, float *o, int64_t d) {
  float max = state.max, sum = 0;
#pragma omp simd reduction(max : max)
  for (int64_t c = 0; c < keys; ++c)
    max = scores[c] > max ? scores[c] : max;
  float shift = max == negativeInfinity ? 0.f : max; // a row of -inf alone has no weight yet
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < keys; ++c) {
    float e = expApproximate(scores[c] - shift);
    scores[c] = e;
    sum += e;
  }
  if (max == state.max)
    return {max, state.sum + sum};
  float correction = expApproximate(state.max - shift);
#pragma omp simd
  for (int64_t c = 0; c < d; ++c)
    o[c] *= correction;
  return {max, state.sum * correction + sum};
}

} // namespace p3d
