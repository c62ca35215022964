// How the gradients of a norm's parameters are summed over rows without atomics: each block has its own f32 sums, in
// shared memory where they fit, else in its row of the workspace; a thread adds to its own columns only. The rows of
// the workspace are then summed in order by p3d_sum_partials.
#pragma once
#include "kernels/Row.cuh"

namespace p3d {

/// The sums of one block: `count` rows of `cols`.
template <typename T> class ParameterSums {
public:
  /// `partial`: [count][blocks][cols]. `shared` is null where the sums do not fit there.
  P3D_DEVICE ParameterSums(float *partial, float *shared, int count, RowLayout<T> layout)
      : partial(partial), shared(shared), count(count), layout(layout) {
    for (int index = 0; index < layout.partCount(); ++index)
      for (int which = 0; which < count; ++which)
        for (int e = 0; e < layout.part(index).count; ++e)
          sums(which)[layout.part(index).col + e] = 0;
  }

  /// Does nothing without sums.
  P3D_DEVICE void add(int which, RowPart part, const float (&values)[chunkSize<T>]) {
    if (count == 0)
      return;
    float *to = sums(which) + part.col, total[chunkSize<T>];
    loadRange(to, part.count, total);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      total[e] += values[e];
    storeRange(to, part.count, total);
  }

  P3D_DEVICE void finish() {
    for (int which = 0; shared && which < count; ++which)
      for (int index = 0; index < layout.partCount(); ++index)
        for (int e = 0; e < layout.part(index).count; ++e) {
          int col = layout.part(index).col + e;
          partialRow(which)[col] = sums(which)[col];
        }
  }

private:
  P3D_DEVICE float *partialRow(int which) {
    return partial + (static_cast<int64_t>(which) * blockCount() + blockIndex()) * layout.cols;
  }
  P3D_DEVICE float *sums(int which) { return shared ? shared + which * layout.cols : partialRow(which); }

  float *partial, *shared;
  int count;
  RowLayout<T> layout;
};

} // namespace p3d
