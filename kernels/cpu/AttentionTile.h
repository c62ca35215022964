// What attention's forward and backward share: heads read as f32 matrices, and one tile of masked scores.
#pragma once
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Gemm.h"
#include <algorithm>
#include <limits>
#include <vector>

namespace p3d {

/// Tiles of scores are at most this high and wide: 16 KB, for the first-level cache; low tiles waste
/// little where keys are causally hidden.
constexpr int64_t attentionQueries = 32, attentionKeys = 128;

/// The sizes and the masking of one call; see p3d_attention.
struct AttentionShape {
  int64_t b, s, t, h, hk, d;
  float scale;
  const float *mask;
  const int64_t *maskStride;
  bool causal;
  float maskedValue;

  int64_t queriesPerKeyHead() const { return h / hk; }
  /// Number of keys that are not causally hidden from `query`; they are the first ones.
  int64_t visibleKeys(int64_t query) const { return causal ? std::clamp<int64_t>(query + t - s + 1, 0, t) : t; }
  /// Whether hidden keys still have weight in a row whose maximum or log-sum-exp is `level`: in a finite maskedValue
  /// they do where all that the row sees is as far down.
  bool hiddenKeysCount(float level) const {
    const float underflow = -104.f; // exp of it is 0 in f32
    return maskedValue - level > underflow;
  }
};

/// A tensor [b, length, heads, d], one head at a time as a matrix of f32 rows.
class HeadReader {
public:
  HeadReader(int32_t dtype, const void *data, int64_t length, int64_t heads, int64_t d, int64_t maxRows)
      : dtype(dtype), data(data), length(length), heads(heads), d(d),
        scratch(dtype == P3D_F32 ? nullptr : new float[maxRows * d]) {}

  /// Rows [first, first + count) of a head; valid until the next call.
  Matrix rows(int64_t batch, int64_t head, int64_t first, int64_t count) const {
    int64_t place = ((batch * length + first) * heads + head) * d, stride = heads * d;
    if (dtype == P3D_F32)
      return {static_cast<const float *>(data) + place, stride};
    for (int64_t r = 0; r < count; ++r)
      widen(dtype, offset(dtype, data, place + r * stride), scratch.get() + r * d, d);
    return {scratch.get(), d};
  }

private:
  int32_t dtype;
  const void *data;
  int64_t length, heads, d;
  std::unique_ptr<float[]> scratch;
};

/// Rounds dense f32 rows into rows [first, first + count) of a head of a tensor [b, length, heads, d].
inline void writeHead(int32_t dtype, void *data, int64_t length, int64_t heads, int64_t d, int64_t batch, int64_t head,
                      int64_t first, int64_t count, const float *rows) {
  for (int64_t r = 0; r < count; ++r)
    narrow(dtype, rows + r * d, offset(dtype, data, ((batch * length + first + r) * heads + head) * d), d);
}

/// Queries [query, query + queries) against keys [key, key + keys).
struct AttentionTile {
  int64_t batch, head, query, queries, key, keys;
};

/// Calls body(key, keys) for tiles over keys [begin, end); none crosses a multiple of attentionKeys.
template <typename Body> void forKeyTiles(int64_t begin, int64_t end, Body body) {
  for (int64_t key = begin, next; key < end; key = next) {
    next = std::min((key / attentionKeys + 1) * attentionKeys, end);
    body(key, next - key);
  }
}

/// The rows of a head as columns, each tile of keys dense. All blocks of queries multiply by the same tiles: turned
/// once here, they are not packed anew by each product.
class TransposedHead {
public:
  TransposedHead(int64_t length, int64_t d) : length(length), d(d), tiles(length * d) {}

  void assign(Matrix rows);

  /// [d][keys] from `key` on, up to the end of its tile; valid until the next assign.
  Matrix columns(int64_t key) const {
    int64_t first = key / attentionKeys * attentionKeys;
    return {tiles.data() + first * d + key - first, std::min(attentionKeys, length - first)};
  }

private:
  int64_t length, d;
  std::vector<float> tiles;
};

/// scores[queries][keys] = scale * q k^T + mask, and maskedValue where the key is causally hidden.
void scoreTile(const AttentionShape &shape, const AttentionTile &tile, Matrix q, const TransposedHead &k,
               float *scores);

/// The softmax of one row as far as its scores are known: their maximum, and the sum of exponentials relative to it.
struct RowState {
  float max = -std::numeric_limits<float>::infinity(), sum = 0;
};

/// Turns the next scores of a row into exponentials relative to its new maximum, and brings what `o` [d] holds to it.
RowState addToSoftmax(RowState state, float *scores, int64_t keys, float *o, int64_t d);

} // namespace p3d
