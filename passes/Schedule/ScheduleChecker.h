// Proves that a schedule can be run: complete, in order, within its slots, and free of deadlock.
#pragma once

#include "passes/Schedule/Schedules.h"

namespace p3d {

/// A value that `from`'s task of one kind sends to the same task of `to`, once a microbatch.
struct Transfer {
  int64_t from, to;
  Action::Kind kind;
};

/// What a schedule has to fit: as many stages, microbatches, and these transfers between the stages.
class ScheduleChecker {
public:
  ScheduleChecker(int64_t stages, int64_t microbatches, std::vector<Transfer> transfers)
      : stages(stages), microbatches(microbatches), transfers(std::move(transfers)) {}

  /// With the transfers of a chain: activations to the next stage, their gradients back.
  static ScheduleChecker forChain(int64_t stages, int64_t microbatches);

  /// The first fault, as a message, or nothing. `slots[i]` is the number of activation slots of stage i; microbatch mb
  /// lives in slot mb % slots[i].
  std::optional<std::string> check(const Schedule &schedule, llvm::ArrayRef<int64_t> slots) const;

private:
  std::optional<std::string> checkComplete(const Schedule &schedule) const;
  std::optional<std::string> checkSlots(const Schedule &schedule, llvm::ArrayRef<int64_t> slots) const;
  std::optional<std::string> checkDeadlock(const Schedule &schedule, llvm::ArrayRef<int64_t> slots) const;

  int64_t stages, microbatches;
  std::vector<Transfer> transfers;
};

/// The most microbatches alive at once: their F has begun and their last action has not ended.
int64_t countLive(const StageOrder &order);

} // namespace p3d
