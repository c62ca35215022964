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

void scoreTile(const AttentionShape &shape, const AttentionTile &tile, Matrix q, Matrix k, float *scores) {
  k.transposed = true;
  gemm(tile.queries, tile.keys, shape.d, shape.scale, q, k, 0.f, scores, tile.keys);
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
