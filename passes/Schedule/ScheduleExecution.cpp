// Runs a schedule under the semantics of a target until nothing can go on.
#include "passes/Schedule/ScheduleChecker.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <deque>

using namespace llvm;
using namespace p3d;

namespace {
/// One end of a transfer of one microbatch.
struct End {
  const Transfer *transfer;
  int64_t microbatch;
  bool isSend;
};

class Execution {
public:
  Execution(const Schedule &schedule, ArrayRef<Transfer> transfers, const Slots &slots, Sending sending)
      : schedule(schedule), transfers(transfers), slots(slots), sending(sending), chunks(slots.front().size()),
        microbatches(countMicrobatches(schedule)), next(schedule.size(), 0), lines(schedule.size()) {
    begun.assign(schedule.size() * 3 * chunks * microbatches, false);
    arrived.assign(transfers.size() * microbatches, false);
    if (sending == Sending::Meeting)
      for (size_t stage = 0; stage < schedule.size(); ++stage)
        enqueueEnds(stage);
  }

  std::optional<std::string> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < schedule.size(); ++stage) {
        for (std::deque<End> &line : lines[stage])
          while (meet(line))
            moved = true;
        while (next[stage] < schedule[stage].size() && !waitsFor(stage)) {
          flag(stage, schedule[stage][next[stage]++]) = true;
          moved = true;
        }
      }
    }
    std::string waits;
    for (size_t stage = 0; stage < schedule.size(); ++stage)
      if (next[stage] < schedule[stage].size())
        waits += formatv("{0}stage {1} at {2} waits for {3}", waits.empty() ? "" : ", ", stage,
                         toString(schedule[stage][next[stage]]), *waitsFor(stage));
    return waits.empty() ? std::nullopt : std::optional("the schedule deadlocks: " + waits);
  }

private:
  /// An action that has begun ends, so begun means done for the others.
  char &flag(int64_t stage, Action action) {
    return begun[((stage * 3 + action.kind) * chunks + action.chunk) * microbatches + action.microbatch];
  }
  char &arrival(const Transfer &transfer, int64_t microbatch) {
    return arrived[(&transfer - transfers.data()) * microbatches + microbatch];
  }

  /// Transfers of one pass to later stages, or to earlier ones, are done one after the other.
  static int64_t lineOf(const Transfer &transfer) {
    return (transfer.kind == Action::Forward ? 0 : 2) + (transfer.to > transfer.from ? 0 : 1);
  }

  void enqueueEnds(int64_t stage) {
    for (Action action : schedule[stage])
      for (bool isSend : {false, true})
        for (const Transfer &transfer : transfers) {
          bool concerns = isSend ? transfer.from == stage && transfer.fromChunk == action.chunk
                                 : transfer.to == stage && transfer.toChunk == action.chunk;
          if (concerns && transfer.kind == action.kind && transfer.from != transfer.to)
            lines[stage][lineOf(transfer)].push_back({&transfer, action.microbatch, isSend});
        }
  }

  /// The first of a line meets its other end, if that is the first of its line too and both can begin.
  bool meet(std::deque<End> &line) {
    if (line.empty())
      return false;
    const Transfer &transfer = *line.front().transfer;
    std::deque<End> &sends = lines[transfer.from][lineOf(transfer)], &receives = lines[transfer.to][lineOf(transfer)];
    int64_t mb = line.front().microbatch;
    auto isFirst = [&](const std::deque<End> &ends, bool isSend) {
      return !ends.empty() && ends.front().transfer == &transfer && ends.front().microbatch == mb &&
             ends.front().isSend == isSend;
    };
    if (!isFirst(sends, true) || !isFirst(receives, false))
      return false;
    if (!flag(transfer.from, {transfer.kind, mb, transfer.fromChunk}) || !isBufferFree(transfer, mb))
      return false;
    sends.pop_front();
    receives.pop_front();
    arrival(transfer, mb) = true;
    return true;
  }

  /// Whether the action before on the receiving chunk has begun; the memory for what is received is one.
  bool isBufferFree(const Transfer &transfer, int64_t microbatch) {
    const StageOrder &order = schedule[transfer.to];
    const Action *before = nullptr;
    for (const Action &action : order) {
      if (action.kind != transfer.kind || action.chunk != transfer.toChunk)
        continue;
      if (action.microbatch == microbatch)
        return !before || flag(transfer.to, *before);
      before = &action;
    }
    return true;
  }

  /// Whether what was sent has left its slot.
  bool hasLeft(const Transfer &transfer, int64_t microbatch) {
    return sending == Sending::Meeting ? arrival(transfer, microbatch)
                                       : flag(transfer.to, {transfer.kind, microbatch, transfer.toChunk});
  }

  /// What the next action of `stage` waits for, if anything.
  std::optional<std::string> waitsFor(int64_t stage) {
    Action action = schedule[stage][next[stage]];
    for (const Transfer &transfer : transfers) {
      Action sent{transfer.kind, action.microbatch, transfer.fromChunk};
      bool receives = transfer.to == stage && transfer.kind == action.kind && transfer.toChunk == action.chunk;
      bool isThere = transfer.from == stage || sending == Sending::Posted ? flag(transfer.from, sent)
                                                                          : arrival(transfer, action.microbatch);
      if (receives && !isThere)
        return formatv("{0} of stage {1}", toString(sent), transfer.from).str();
      // The microbatch that had this slot before.
      sent.microbatch -= slots[stage][action.chunk];
      bool leaves = action.kind == Action::Forward && transfer.from == stage && transfer.to != stage &&
                    transfer.fromChunk == action.chunk;
      if (leaves && sent.microbatch >= 0 && flag(stage, sent) && !hasLeft(transfer, sent.microbatch))
        return formatv("stage {0} to receive what {1} sent", transfer.to, toString(sent)).str();
    }
    return std::nullopt;
  }

  const Schedule &schedule;
  ArrayRef<Transfer> transfers;
  const Slots &slots;
  Sending sending;
  int64_t chunks, microbatches;
  std::vector<size_t> next;
  std::vector<std::array<std::deque<End>, 4>> lines; ///< for each stage, what is left of each line
  std::vector<char> begun, arrived;
};
} // namespace

std::optional<std::string> p3d::findDeadlock(const Schedule &schedule, ArrayRef<Transfer> transfers, const Slots &slots,
                                             Sending sending) {
  return Execution(schedule, transfers, slots, sending).run();
}
