// Attention's gradient, one query at a time.
#include "kernels/reference/AttentionScores.h"
#include <algorithm>

/// Adds the part of query `i` of head `h`.
static void addQuery(const reference::AttentionShape &x, const double *dO, const double *q, const double *k,
                     const double *v, const double *o, double *dq, double *dk, double *dv, int64_t b, int64_t h,
                     int64_t i) {
  int64_t query = queryIndex(x, b, i, h);
  std::vector<double> probabilities = attentionProbabilities(x, q, k, b, h, i).p;
  double dot = 0;
  for (int64_t c = 0; c < x.d; ++c)
    dot += dO[query + c] * o[query + c];
  for (int64_t j = 0; j < x.t; ++j) {
    int64_t key = keyIndex(x, b, j, h);
    double p = probabilities[j], dp = 0;
    for (int64_t c = 0; c < x.d; ++c) {
      dp += dO[query + c] * v[key + c];
      dv[key + c] += p * dO[query + c];
    }
    if (isHidden(x, i, j))
      continue; // a replaced score depends on nothing
    for (int64_t c = 0; c < x.d; ++c) {
      dq[query + c] += p * (dp - dot) * x.scale * k[key + c];
      dk[key + c] += p * (dp - dot) * x.scale * q[query + c];
    }
  }
}

void reference::attentionGrad(const AttentionShape &x, const double *dO, const double *q, const double *k,
                              const double *v, const double *o, double *dq, double *dk, double *dv) {
  std::fill_n(dq, x.b * x.s * x.h * x.d, 0.);
  std::fill_n(dk, x.b * x.t * x.hk * x.d, 0.);
  std::fill_n(dv, x.b * x.t * x.hk * x.d, 0.);
  for (int64_t b = 0; b < x.b; ++b)
    for (int64_t h = 0; h < x.h; ++h)
      for (int64_t i = 0; i < x.s; ++i)
        addQuery(x, dO, q, k, v, o, dq, dk, dv, b, h, i);
}
