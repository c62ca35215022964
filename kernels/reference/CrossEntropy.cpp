// The pieces of softmax-cross-entropy over one shard of the columns.
#include "kernels/reference/Reference.h"
#include <algorithm>
#include <cmath>
#include <limits>

static const double negativeInfinity = -std::numeric_limits<double>::infinity();

static double exponential(double logit, double max) { return max == negativeInfinity ? 0 : std::exp(logit - max); }

void reference::crossEntropyMax(const double *logits, double *max, int64_t rows, int64_t cols, int64_t start,
                                int64_t valid) {
  for (int64_t r = 0; r < rows; ++r) {
    max[r] = negativeInfinity;
    for (int64_t c = 0; c < cols && start + c < valid; ++c)
      max[r] = std::max(max[r], logits[r * cols + c]);
  }
}

void reference::crossEntropySum(const double *logits, const int32_t *targets, const double *max, double *sum,
                                double *target, int64_t rows, int64_t cols, int64_t start, int64_t valid) {
  for (int64_t r = 0; r < rows; ++r) {
    sum[r] = target[r] = 0;
    for (int64_t c = 0; c < cols && start + c < valid; ++c) {
      sum[r] += exponential(logits[r * cols + c], max[r]);
      if (targets[r] == start + c)
        target[r] = logits[r * cols + c];
    }
  }
}

void reference::crossEntropyGrad(const double *logits, const int32_t *targets, const double *max, const double *sum,
                                 const double *dloss, double *dx, int64_t rows, int64_t cols, int64_t start,
                                 int64_t valid) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) {
      double probability = sum[r] == 0 ? 0 : exponential(logits[r * cols + c], max[r]) / sum[r];
      double oneHot = targets[r] == start + c ? 1 : 0;
      dx[r * cols + c] = start + c < valid ? dloss[r] * (probability - oneHot) : 0;
    }
}
