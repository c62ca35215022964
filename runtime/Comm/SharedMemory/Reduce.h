// Element-wise reduction of the same range of several ranks' buffers, in the
// order of the ranks.
#pragma once
#include "runtime/include/p3d/runtime.h"
#include <vector>

namespace p3d {

/// Reduces elements [begin, end) of `sources` (in their order) and writes the
/// result to the same elements of each of `targets`, which may be sources.
/// 16-bit floats are reduced in f32 and rounded once. Throws if `kind` has no
/// meaning for `dtype`.
void reduceRange(p3d_reduce_kind kind, p3d_dtype dtype,
                 const std::vector<const char *> &sources,
                 const std::vector<char *> &targets, int64_t begin,
                 int64_t end);

} // namespace p3d
