// Schedules as data: for each stage, the order of its forwards and backwards.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace p3d {

/// F, B or W of one microbatch on one chunk of a stage. Where no W appears, B is the whole backward; else B is the
/// gradient of the inputs, W that of the weights.
struct Action {
  enum Kind { Forward, Backward, WeightGradient } kind;
  int64_t microbatch;
  int64_t chunk = 0;
  bool operator==(const Action &other) const {
    return kind == other.kind && microbatch == other.microbatch && chunk == other.chunk;
  }
};

/// "F0", "B3", "W1", on another chunk than the first "F0.1".
std::string toString(Action action);
/// The action of this text, if it is one.
std::optional<Action> parseAction(llvm::StringRef text);

using StageOrder = std::vector<Action>;
/// One order for each stage.
using Schedule = std::vector<StageOrder>;

/// Whether the gradients of weights are actions of their own.
bool splitsBackward(const Schedule &schedule);
/// The number of chunks of a stage.
int64_t countChunks(const Schedule &schedule);
/// The number of microbatches.
int64_t countMicrobatches(const Schedule &schedule);

/// The most microbatches alive at once, those of each chunk counted for themselves: their F has begun and their last
/// action has not ended.
int64_t countLive(const StageOrder &order);

/// For each stage and each of its chunks the number of slots; microbatch mb is alive in slot mb % slots.
using Slots = std::vector<std::vector<int64_t>>;
/// The fewest in which no two microbatches meet.
Slots countSlots(const Schedule &schedule);

} // namespace p3d
