// Rows of a tensor by index (an embedding, take_along_axis): copies of `inner` elements at a time.
#include "kernels/Kernels.h"
#include "kernels/cpu/Indices.h"
#include <cstring>

using namespace p3d;

void p3d_gather(int32_t elementBytes, int32_t idDtype, const void *x, const void *ids, void *out, int64_t b, int64_t o,
                int64_t n, int64_t i, int64_t inner, int64_t start) {
  Indices indices(idDtype, ids, n, start);
  size_t rowBytes = static_cast<size_t>(inner) * elementBytes;
  const char *from = static_cast<const char *>(x);
  char *to = static_cast<char *>(out);
  for (int64_t batch = 0; batch < b; ++batch)
    for (int64_t outer = 0; outer < o; ++outer) {
      const char *slab = from + (batch * o + outer) * n * rowBytes;
      for (int64_t at = 0; at < i; ++at, to += rowBytes) {
        int64_t row = n == 0 ? -1 : indices.row(batch * i + at);
        if (row >= 0)
          std::memcpy(to, slab + row * rowBytes, rowBytes);
        else
          std::memset(to, 0, rowBytes);
      }
    }
}
