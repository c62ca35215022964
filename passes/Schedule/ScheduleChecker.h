// Proves that a schedule can be run: complete, in order, within its slots, and free of deadlock.
#pragma once

#include "passes/Schedule/Schedules.h"

namespace p3d {

/// A value that `from`'s task of one kind hands to the same task of `to`, once a microbatch; between two chunks of one
/// stage it stays there.
struct Transfer {
  int64_t from, to;
  Action::Kind kind;
  int64_t fromChunk = 0, toChunk = 0;
};

/// The transfers of a chain: activations to the next part, their gradients back.
std::vector<Transfer> chainTransfers(Placement placement, int64_t stages, int64_t chunks = 1);

/// What a schedule has to fit: as many stages, microbatches and chunks, and these transfers between them.
class ScheduleChecker {
public:
  ScheduleChecker(int64_t stages, int64_t microbatches, std::vector<Transfer> transfers, int64_t chunks = 1)
      : stages(stages), microbatches(microbatches), chunks(chunks), transfers(std::move(transfers)) {}

  /// With the transfers of a chain.
  static ScheduleChecker forChain(ScheduleSize size, Placement placement = Placement::Loop) {
    return {size.stages, size.microbatches, chainTransfers(placement, size.stages, size.chunks), size.chunks};
  }

  /// The first fault, as a message that names the actions, or nothing.
  std::optional<std::string> check(const Schedule &schedule, const Slots &slots) const;

private:
  std::optional<std::string> checkComplete(const Schedule &schedule) const;
  /// Whether no two microbatches meet in one of `slots` while they are alive.
  std::optional<std::string> checkSlots(const Schedule &schedule, const Slots &slots) const;

  int64_t stages, microbatches, chunks;
  std::vector<Transfer> transfers;
};

/// How a target moves what is sent.
enum class Sending {
  /// A send is posted when its action ends; the receiver takes it when its action begins.
  Posted,
  /// A send and its receive meet. Those of one direction and pass are done in the order of the actions, a receive when
  /// the action before it that received the same has ended.
  Meeting
};

/// Runs `schedule`, which is complete, action by action; if all stages wait, says what each waits for. A slot is not
/// taken again before what was sent from it has arrived.
std::optional<std::string> findDeadlock(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers,
                                        const Slots &slots, Sending sending);

} // namespace p3d
