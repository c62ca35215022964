// Attention, one query at a time.
#include "kernels/reference/AttentionScores.h"

void reference::attention(const AttentionShape &x, const double *q, const double *k, const double *v, double *o,
                          double *lse) {
  for (int64_t b = 0; b < x.b; ++b)
    for (int64_t h = 0; h < x.h; ++h)
      for (int64_t i = 0; i < x.s; ++i) {
        Probabilities row = attentionProbabilities(x, q, k, b, h, i);
        lse[(b * x.h + h) * x.s + i] = row.lse;
        for (int64_t c = 0; c < x.d; ++c) {
          double sum = 0;
          for (int64_t j = 0; j < x.t; ++j)
            sum += row.p[j] * v[keyIndex(x, b, j, h) + c];
          o[queryIndex(x, b, i, h) + c] = sum;
        }
      }
}
