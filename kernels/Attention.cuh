// What attention's forward and backward kernels share: heads in memory, and scores.
#pragma once
#include "kernels/AttentionTiling.h"
#include "kernels/CudaArguments.h"
#include "kernels/Matrix.cuh"

namespace p3d {

/// A tensor [b, length, heads, d], rows of one head.
template <typename T> struct Head {
  T *data;
  int64_t stride; // from row to row
  int length, d;
  bool aligned;

  P3D_DEVICE Head(T *tensor, int length, int heads, int d, int batch, int head, bool aligned)
      : data(tensor + (static_cast<int64_t>(batch) * length * heads + head) * d),
        stride(static_cast<int64_t>(heads) * d), length(length), d(d), aligned(aligned) {}

  template <int rows, typename Element, int width>
  P3D_DEVICE void load(CopyQueue &queue, Tile<Element, width> tile, int first) const {
    tile.template load<rows, attentionThreads>(queue, data + first * stride, stride, length - first, d, aligned);
  }
};

/// The sizes and the masking of one head of one sequence.
class Scores {
public:
  P3D_DEVICE Scores(const p3d_attention_arguments &x, int batch, int head)
      : x(x), mask(x.mask ? x.mask + batch * x.maskStrideBatch + head * x.maskStrideHead : nullptr) {}

  /// Number of keys that are not causally hidden from `query`; they are the first ones.
  P3D_DEVICE int visibleKeys(int query) const {
    int visible = x.causal ? query + x.t - x.s + 1 : x.t;
    return visible < 0 ? 0 : visible < x.t ? visible : x.t;
  }
  P3D_DEVICE bool isHidden(int query, int key) const { return x.causal && key > query + x.t - x.s; }
  /// Whether hidden keys still have weight in a row whose maximum or log-sum-exp is `level`: in a finite maskedValue
  /// they do where all that the row sees is as far down.
  P3D_DEVICE bool hiddenKeysCount(float level) const {
    const float underflow = -104.f; // exp of it is 0 in f32
    return x.maskedValue - level > underflow;
  }
  /// Whether a tile has neither mask nor ends nor hidden keys: scores are products alone.
  P3D_DEVICE bool isPlain(int query, int queries, int key, int keys) const {
    return !mask && query + queries <= x.s && key + keys <= visibleKeys(query);
  }
  /// The score of a query and a key that exist, from their scalar product.
  P3D_DEVICE float score(float product, int query, int key) const {
    float score = product * x.scale;
    if (mask)
      score += mask[query * x.maskStrideQuery + key * x.maskStrideKey];
    return isHidden(query, key) ? x.maskedValue : score;
  }

  const p3d_attention_arguments &x;

private:
  const float *mask;
};

/// exp, to the accuracy that results of type T can show.
template <typename T> P3D_DEVICE float exponentialFor(float x) {
  return sizeof(T) == 4 ? exponential(x) : exponentialFast(x);
}

/// Writes accumulators [16 m][width], times factor(row), as rows `first` and on of a head. factor is called with i in
/// [0, 2 m) for row 8 i + g of the warp.
template <int m, int width, typename T, typename Factor>
P3D_DEVICE void storeRows(const float (&c)[m][width / 8][4], Head<T> head, int first, const Factor &factor) {
  int g = laneIndex() / 4, t = laneIndex() % 4;
  P3D_UNROLL
  for (int i = 0; i < 2 * m; ++i) {
    int row = first + 8 * i + g;
    if (row >= head.length)
      continue;
    T *to = head.data + row * head.stride;
    float scale = factor(i);
    P3D_UNROLL
    for (int j = 0; j < width / 8; ++j) {
      int col = 8 * j + 2 * t;
      float low = c[i / 2][j][i % 2 * 2] * scale, high = c[i / 2][j][i % 2 * 2 + 1] * scale;
      if constexpr (sizeof(T) == 2)
        if (head.aligned) { // both columns or none exist
          if (col < head.d)
            *reinterpret_cast<uint32_t *>(to + col) = packPair<T>(low, high);
          continue;
        }
      if (col < head.d)
        to[col] = fromFloat<T>(low);
      if (col + 1 < head.d)
        to[col + 1] = fromFloat<T>(high);
    }
  }
}

} // namespace p3d
