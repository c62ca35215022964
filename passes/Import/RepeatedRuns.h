// Periods in a sequence of segments.
#pragma once

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace p3d::import {

/// A stretch [begin, end) of the chain between two cuts.
struct Segment {
  size_t begin, end;
  llvm::hash_code exact = 0; ///< operations, attributes and types
  llvm::hash_code alike = 0; ///< the same, sizes aside
  unsigned contractions = 0; ///< products with a parameter
  llvm::SmallVector<llvm::StringRef, 8> parameters;
};

/// The layers as (first segment, count of segments), in order: the periods of the longest repeated run, then those of other runs of
/// comparable length, and single occurrences of a period elsewhere. A layer multiplies by a parameter.
llvm::SmallVector<std::pair<size_t, size_t>> findLayers(llvm::ArrayRef<Segment> segments);

} // namespace p3d::import
