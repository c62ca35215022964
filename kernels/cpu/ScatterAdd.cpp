// Adds rows into a tensor by index (the gradient of an embedding). The ids are sorted first (stably), so that each row
// of x is read and written once, its updates are summed in f32 in their order, and a 16-bit result is rounded once.
#include "kernels/Kernels.h"
#include "kernels/cpu/Indices.h"
#include "kernels/cpu/Parallel.h"
#include <cstring>
#include <utility>
#include <vector>

using namespace p3d;

namespace {
using Target = std::pair<int64_t, int64_t>; // row of x, position in ids
} // namespace

static std::vector<Target> sortedTargets(const Indices &indices, int64_t first, int64_t count) {
  std::vector<Target> targets;
  targets.reserve(count);
  for (int64_t at = 0; at < count; ++at)
    if (int64_t row = indices.row(first + at); row >= 0)
      targets.emplace_back(row, at);
  std::sort(targets.begin(), targets.end());
  return targets;
}

void p3d_scatter_add(int32_t dtype, int32_t xDtype, int32_t idDtype, const void *updates, const void *ids, void *x,
                     int64_t b, int64_t o, int64_t n, int64_t i, int64_t inner, int64_t start, int32_t accumulate) {
  if (!accumulate)
    std::memset(x, 0, static_cast<size_t>(b * o * n * inner) * elementSize(xDtype));
  if (n == 0)
    return;
  Indices indices(idDtype, ids, n, start);
  for (int64_t batch = 0; batch < b; ++batch) {
    std::vector<Target> targets = sortedTargets(indices, batch * i, i);
    int64_t count = static_cast<int64_t>(targets.size());
    // Of a part: the rows whose first update it has.
    auto addRows = [&](int64_t outer, int64_t begin, int64_t end) {
      RowReader update(dtype, updates, inner), before(xDtype, x, inner);
      std::vector<float> sum(inner);
      while (begin > 0 && begin < end && targets[begin].first == targets[begin - 1].first)
        ++begin;
      for (int64_t at = begin; at < end;) {
        int64_t row = targets[at].first, place = (outer * n + row) * inner;
        std::memcpy(sum.data(), before.read(place, inner), inner * sizeof(float));
        for (; at < count && targets[at].first == row; ++at) {
          const float *added = update.read((outer * i + targets[at].second) * inner, inner);
          for (int64_t c = 0; c < inner; ++c)
            sum[c] += added[c];
        }
        narrow(xDtype, sum.data(), offset(xDtype, x, place), inner);
      }
    };
    for (int64_t outer = batch * o; outer < (batch + 1) * o; ++outer)
      parallelFor(count, grainOf(inner), [&](int64_t begin, int64_t end) { addRows(outer, begin, end); });
  }
}
