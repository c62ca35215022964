// Rows of a tensor by index (an embedding, take_along_axis): copies of `inner` elements at a time.
#include "kernels/Kernels.h"
#include "kernels/cpu/Indices.h"
#include "kernels/cpu/Parallel.h"
#include <cstring>

using namespace p3d;

void p3d_gather(int32_t elementBytes, int32_t idDtype, const void *x, const void *ids, void *out, int64_t b, int64_t o,
                int64_t n, int64_t i, int64_t inner, int64_t start) {
  Indices indices(idDtype, ids, n, start);
  size_t rowBytes = static_cast<size_t>(inner) * elementBytes;
  parallelFor(b * o * i, grainOf(inner), [&](int64_t begin, int64_t end) {
    for (int64_t result = begin; result < end; ++result) {
      int64_t slab = result / i, batch = slab / o, at = result % i;
      char *to = static_cast<char *>(out) + result * rowBytes;
      int64_t row = n == 0 ? -1 : indices.row(batch * i + at);
      if (row >= 0)
        std::memcpy(to, static_cast<const char *>(x) + (slab * n + row) * rowBytes, rowBytes);
      else
        std::memset(to, 0, rowBytes);
    }
  });
}
