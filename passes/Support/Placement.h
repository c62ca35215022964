// Where the parts of a pipeline stand: the model is a chain of stages x chunks parts, and each stage holds one part for
// each of its chunks.
#pragma once

#include <cstdint>

namespace p3d {

/// Loop: part k is on stage k mod p (arXiv 2104.04473). Vee: the chain turns around at the last stage, so that the
/// first and the last part of two chunks are on one stage (arXiv 2401.10241).
enum class Placement { Loop, Vee };

/// A chunk of a stage; chunks are numbered in the order of the chain.
struct Part {
  int64_t stage = 0, chunk = 0;
  bool operator==(Part other) const { return stage == other.stage && chunk == other.chunk; }
};

/// The part at `place` of the chain.
inline Part partAt(Placement placement, int64_t place, int64_t stages) {
  int64_t along = place % stages, chunk = place / stages;
  return {placement == Placement::Vee && chunk % 2 ? stages - 1 - along : along, chunk};
}

/// The place of a part in the chain.
inline int64_t placeOf(Placement placement, Part part, int64_t stages) {
  bool turned = placement == Placement::Vee && part.chunk % 2;
  return part.chunk * stages + (turned ? stages - 1 - part.stage : part.stage);
}

} // namespace p3d
