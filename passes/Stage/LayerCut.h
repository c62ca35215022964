// How many layers each stage gets: pure functions of the layers' costs.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <variant>

namespace p3d {

/// Layers per stage (and chunk), or what is wrong with the request (a message).
using LayerCut = std::variant<llvm::SmallVector<int64_t>, std::string>;

/// Cuts the chain of layers into ranges, one for each of `chunks` chunks of `stages` stages, of at least one layer, so that
/// the dearest range is as cheap as possible, and among those cuts the ranges are as even as possible; equal counts are
/// kept where that costs little. An error when there are fewer layers than ranges.
LayerCut cutLayers(llvm::ArrayRef<int64_t> costs, int64_t stages, int64_t chunks = 1);

/// Reads the counts "19,21,21,19" for `layers` layers on `stages` stages; with chunks, in the order of the chain.
LayerCut parseLayerCounts(llvm::StringRef text, int64_t layers, int64_t stages, int64_t chunks = 1);

} // namespace p3d
