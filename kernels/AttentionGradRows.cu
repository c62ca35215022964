// First step of attention's gradient: a warp per query makes dot = sum(dO * o) and how its scores become probabilities,
// exp(score - shift) * factor. Traffic: dO and o once. For all but a few rows shift is the log-sum-exp of the forward
// pass and factor is 1. One so large that f32 drops the logarithm from it (rows of padding, where every score is about
// -1e9) does not tell; then the warp makes the softmax of its row again, which costs as much as a query of a plain
// forward pass.
#include "kernels/AttentionGrad.cuh"

using namespace p3d;

namespace {

template <typename T> class QueryRow {
public:
  P3D_DEVICE QueryRow(const p3d_attention_arguments &x, int64_t row)
      : x(x), query(static_cast<int>(row % x.s)), head(static_cast<int>(row / x.s % x.h)),
        batch(static_cast<int>(row / x.s / x.h)),
        place(((static_cast<int64_t>(batch) * x.s + query) * x.h + head) * x.d) {}

  P3D_DEVICE float dotProduct(const T *a, const T *b) const {
    float sum = 0;
    for (int c = laneIndex(); c < x.d; c += warpThreads)
      sum += toFloat(a[place + c]) * toFloat(b[place + c]);
    return warpSum(sum);
  }

  /// The softmax again: maximum and 1 / sum.
  P3D_DEVICE void remake(const T *q, const T *k, float level, float &shift, float &factor) const {
    Scores scores(x, batch, head);
    Head<const T> keys(k, x.t, x.hk, x.d, batch, head / (x.h / x.hk), false);
    int end = scores.hiddenKeysCount(level) ? x.t : scores.visibleKeys(query);
    float max = negativeInfinity, sum = 0;
    for (int key = laneIndex(); key < end; key += warpThreads) {
      float product = 0;
      for (int c = 0; c < x.d; ++c)
        product += toFloat(q[place + c]) * toFloat(keys.data[key * keys.stride + c]);
      float score = scores.score(product, query, key);
      float newMax = maximum(max, score), from = newMax == negativeInfinity ? 0.f : newMax;
      sum = sum * exponential(max - from) + exponential(score - from);
      max = newMax;
    }
    shift = warpMax(max);
    factor = 1.f / warpSum(max == negativeInfinity ? 0.f : sum * exponential(max - shift));
  }

private:
  const p3d_attention_arguments &x;
  int query, head, batch;
  int64_t place;
};

template <typename T>
P3D_DEVICE void prepareRow(const p3d_attention_arguments &x, const T *dO, const T *o, const T *q, const T *k,
                           const float *lse, float *workspace, int64_t rows) {
  int64_t row = globalThread() / warpThreads; // of [b][h][s]
  if (row >= rows)
    return;
  const float tooLarge = 1024;
  QueryRow<T> queryRow(x, row);
  float dot = queryRow.dotProduct(dO, o), level = lse[row];
  // A row without any weight: exp(score - inf) is 0 everywhere.
  float shift = level == negativeInfinity ? -negativeInfinity : level, factor = 1;
  if (level != negativeInfinity && (level > tooLarge || level < -tooLarge))
    queryRow.remake(q, k, level, shift, factor);
  RowStatistics statistics(workspace, rows);
  if (laneIndex() == 0) {
    statistics.shift[row] = shift;
    statistics.factor[row] = factor;
    statistics.dot[row] = dot;
  }
}

} // namespace

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(256)                                                                                                      \
  p3d_attention_grad_rows_##suffix(p3d_attention_arguments x, const type *dO, const type *o, const type *q,            \
                                   const type *k, const float *lse, float *workspace, int64_t rows) {                  \
    prepareRow<type>(x, dO, o, q, k, lse, workspace, rows);                                                            \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
