// The probabilities of one query, as the references of attention and its gradient use them.
#pragma once
#include "kernels/reference/Reference.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace reference {

inline int64_t queryIndex(const AttentionShape &x, int64_t b, int64_t i, int64_t h) {
  return ((b * x.s + i) * x.h + h) * x.d;
}
/// Of the key head that query head `h` reads.
inline int64_t keyIndex(const AttentionShape &x, int64_t b, int64_t j, int64_t h) {
  return ((b * x.t + j) * x.hk + h / (x.h / x.hk)) * x.d;
}
inline bool isHidden(const AttentionShape &x, int64_t i, int64_t j) { return x.causal && j > i + x.t - x.s; }

inline std::vector<double> attentionScores(const AttentionShape &x, const double *q, const double *k, int64_t b,
                                           int64_t h, int64_t i) {
  std::vector<double> scores(x.t);
  for (int64_t j = 0; j < x.t; ++j) {
    double dot = 0;
    for (int64_t c = 0; c < x.d; ++c)
      dot += q[queryIndex(x, b, i, h) + c] * k[keyIndex(x, b, j, h) + c];
    scores[j] = dot * x.scale;
    if (x.mask)
      scores[j] += x.mask[b * x.maskStride[0] + h * x.maskStride[1] + i * x.maskStride[2] + j * x.maskStride[3]];
    if (isHidden(x, i, j))
      scores[j] = x.maskedValue;
  }
  return scores;
}

/// The softmax of the scores of one query, zeros where all are -inf; and the log of the sum of their exponentials.
struct Probabilities {
  std::vector<double> p;
  double lse;
};

inline Probabilities attentionProbabilities(const AttentionShape &x, const double *q, const double *k, int64_t b,
                                            int64_t h, int64_t i) {
  std::vector<double> p = attentionScores(x, q, k, b, h, i);
  double max = *std::max_element(p.begin(), p.end()), sum = 0;
  for (double &value : p)
    sum += value = std::isinf(max) ? 0 : std::exp(value - max);
  for (double &value : p)
    value = sum == 0 ? 0 : value / sum;
  return {p, max + std::log(sum)};
}

} // namespace reference
