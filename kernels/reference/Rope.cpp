// Rotary position embedding: rotates pairs of elements.
#include "kernels/reference/Reference.h"

void reference::rope(const double *x, const double *cosines, const double *sines, double *y, int64_t b, int64_t s,
                     int64_t h, int64_t d, bool isInterleaved, bool inverse) {
  for (int64_t head = 0; head < b * s * h; ++head)
    for (int64_t i = 0; i < d / 2; ++i) {
      int64_t table = head / h % s * (d / 2) + i;
      int64_t first = head * d + (isInterleaved ? 2 * i : i), second = isInterleaved ? first + 1 : first + d / 2;
      double c = cosines[table], sn = inverse ? -sines[table] : sines[table], a = x[first];
      y[first] = a * c - x[second] * sn;
      y[second] = x[second] * c + a * sn;
    }
}
