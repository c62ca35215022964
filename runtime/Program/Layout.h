// Where the elements of a whole tensor lie in one rank's arena: the one place
// that knows pieces, shards and padding. Loading, initialising, exporting and
// filling inputs all walk the same runs.
#pragma once
#include "runtime/Program/Program.h"
#include <functional>

namespace p3d {

/// A box of a whole tensor, held row-major in storage that may be larger.
struct Layout {
  std::vector<int64_t> global; ///< shape of the whole tensor
  std::vector<int64_t> start;  ///< first element of the box, global coordinates
  std::vector<int64_t> extent; ///< the box; the rest of the storage is padding
  std::vector<int64_t> storage; ///< shape of the local storage

  /// The storage is no more than these elements of what `storage` says, row-major;
  /// all of it if negative.
  int64_t first = 0, count = -1;

  int64_t storageCount() const;
  int64_t extentCount() const;
  int64_t globalCount() const;

  /// Calls `run(globalIndex, localIndex, count)` for each maximal range of
  /// elements that is contiguous in both, in order.
  void
  forEachRun(const std::function<void(int64_t, int64_t, int64_t)> &run) const;
};

/// The part of `param` that the rank at `at` holds.
Layout localLayout(const Param &param, const Mesh &mesh, Coordinates at);

/// What a rank updates of a parameter, and counts in the norm: elements [begin,
/// begin + count) of its flat storage, and where these lie in the arena (negative
/// where there is none).
struct OwnedPart {
  int64_t begin, count;
  int64_t values, grad, m, v, master;
};
OwnedPart ownedPart(const Param &param, const Mesh &mesh, Coordinates at);

/// The part of `param` that the rank at `at` owns, as it lies at the places of
/// ownedPart.
Layout ownedLayout(const Param &param, const Mesh &mesh, Coordinates at);
/// What lies at the parameter's offset: all, or no more than the owned part, then
/// followed by zeros.
Layout valuesLayout(const Param &param, const Mesh &mesh, Coordinates at);

/// The rows of `input` that the replica at `at` reads.
Layout localLayout(const Input &input, const Mesh &mesh, Coordinates at);

/// The part of `value` that the rank at `at` has of microbatch `mb`.
Layout localLayout(const Value &value, const Program &program, Coordinates at,
                   int64_t mb);

/// True for exactly one holder of each element over all ranks: index 0 of the
/// axes that `param` is replicated over, in the stage that counts it. `axes`
/// are those along which copies are to be told apart.
bool ownsCopy(const Param &param, const Mesh &mesh, Coordinates at,
              const std::vector<p3d_axis> &axes);

} // namespace p3d
