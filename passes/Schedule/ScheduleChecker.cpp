// Checks by counting; what concerns several stages is run, see ScheduleExecution.cpp.
#include "passes/Schedule/ScheduleChecker.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace p3d;

std::vector<Transfer> p3d::chainTransfers(Placement placement, int64_t stages, int64_t chunks) {
  std::vector<Transfer> transfers;
  for (int64_t place = 0; place + 1 < stages * chunks; ++place) {
    Part here = partAt(placement, place, stages), next = partAt(placement, place + 1, stages);
    transfers.push_back({here.stage, next.stage, Action::Forward, here.chunk, next.chunk});
    transfers.push_back({next.stage, here.stage, Action::Backward, next.chunk, here.chunk});
  }
  return transfers;
}

std::optional<std::string> ScheduleChecker::check(const Schedule &schedule, const Slots &slots) const {
  if (int64_t(schedule.size()) != stages)
    return formatv("the schedule has {0} stages, expected {1}", schedule.size(), stages).str();
  if (auto fault = checkComplete(schedule))
    return fault;
  if (auto fault = checkSlots(schedule, slots))
    return fault;
  for (Sending sending : {Sending::Posted, Sending::Meeting})
    if (auto fault = findDeadlock(schedule, transfers, slots, sending))
      return fault;
  return std::nullopt;
}

std::optional<std::string> ScheduleChecker::checkComplete(const Schedule &schedule) const {
  int64_t kinds = splitsBackward(schedule) ? 3 : 2;
  for (auto [stage, order] : enumerate(schedule)) {
    std::vector<char> done(kinds * chunks * microbatches, false);
    auto flag = [&](Action action) -> char & {
      return done[(action.kind * chunks + action.chunk) * microbatches + action.microbatch];
    };
    Action last{};
    for (Action action : order) {
      if (action.microbatch >= microbatches)
        return formatv("stage {0}: {1} is beyond the {2} microbatches", stage, toString(action), microbatches).str();
      if (action.chunk >= chunks)
        return formatv("stage {0}: {1} is beyond the {2} chunks", stage, toString(action), chunks).str();
      Action before{Action::Kind(action.kind - 1), action.microbatch, action.chunk};
      if (action.kind != Action::Forward && !flag(before))
        return formatv("stage {0}: {1} comes before {2}", stage, toString(action), toString(before)).str();
      if (std::exchange(flag(action), true))
        return formatv("stage {0}: {1} comes twice, the second time after {2}", stage, toString(action), toString(last))
            .str();
      last = action;
    }
    for (int64_t mb = 0; mb < microbatches; ++mb)
      for (int64_t chunk = 0; chunk < chunks; ++chunk)
        for (int64_t kind = 0; kind < kinds; ++kind)
          if (Action missing{Action::Kind(kind), mb, chunk}; !flag(missing)) {
            std::string text = formatv("stage {0}: {1} is missing", stage, toString(missing));
            Action before{Action::Kind(kind - 1), mb, chunk};
            return kind > 0 ? text + " after " + toString(before) : text;
          }
  }
  return std::nullopt;
}

std::optional<std::string> ScheduleChecker::checkSlots(const Schedule &schedule, const Slots &slots) const {
  Action::Kind end = splitsBackward(schedule) ? Action::WeightGradient : Action::Backward;
  for (auto [stage, order] : enumerate(schedule)) {
    DenseMap<std::pair<int64_t, int64_t>, int64_t> holder;
    for (Action action : order) {
      int64_t count = slots[stage][action.chunk], slot = action.microbatch % count;
      if (action.kind == Action::Forward) {
        auto [entry, isFree] = holder.try_emplace({action.chunk, slot}, action.microbatch);
        if (!isFree)
          return formatv("stage {0}: {1} takes slot {2} of {3} while microbatch {4} is alive in it until {5}", stage,
                         toString(action), slot, count, entry->second, toString({end, entry->second, action.chunk}))
              .str();
      }
      if (action.kind == end)
        holder.erase({action.chunk, slot});
    }
  }
  return std::nullopt;
}
