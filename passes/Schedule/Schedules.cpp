// The schedules without a split backward, and the table of all. Charts show F and B of equal length.
#include "passes/Schedule/Schedules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <limits>

using namespace llvm;
using namespace p3d;

// GPipe (arXiv 1811.06965): all forwards, then all backwards; every microbatch is alive at the turn.
//
//   stage 0  F0 F1 F2 F3             B0 B1 B2 B3
//   stage 1     F0 F1 F2 F3       B0 B1 B2 B3
//   stage 2        F0 F1 F2 F3 B0 B1 B2 B3
Schedule p3d::makeGPipe(ScheduleSize size) {
  StageOrder order;
  for (Action::Kind kind : {Action::Forward, Action::Backward})
    for (int64_t mb = 0; mb < size.microbatches; ++mb)
      order.push_back({kind, mb});
  return Schedule(size.stages, order);
}

/// `warmUp` forwards, then a forward and a backward in turn, then the backwards that are left.
static StageOrder alternate(ArrayRef<Action> forwards, ArrayRef<Action> backwards, size_t warmUp) {
  warmUp = std::min(warmUp, forwards.size());
  StageOrder order(forwards.begin(), forwards.begin() + warmUp);
  for (size_t i = 0; i < backwards.size(); ++i) {
    if (i + warmUp < forwards.size())
      order.push_back(forwards[i + warmUp]);
    order.push_back(backwards[i]);
  }
  return order;
}

static std::vector<Action> eachMicrobatch(Action::Kind kind, int64_t microbatches) {
  std::vector<Action> actions;
  for (int64_t mb = 0; mb < microbatches; ++mb)
    actions.push_back({kind, mb});
  return actions;
}

// 1F1B, "PipeDream-Flush" (arXiv 2104.04473): stage i runs p - i - 1 forwards ahead, then one forward and one backward
// in turn, so that at most p - i microbatches are alive.
//
//   stage 0  F0 F1 F2       B0 F3 B1    B2    B3
//   stage 1     F0 F1    B0 F2 B1 F3 B2    B3
//   stage 2        F0 B0 F1 B1 F2 B2 F3 B3
Schedule p3d::make1F1B(ScheduleSize size) {
  Schedule schedule;
  for (int64_t i = 0; i < size.stages; ++i)
    schedule.push_back(alternate(eachMicrobatch(Action::Forward, size.microbatches),
                                 eachMicrobatch(Action::Backward, size.microbatches), size.stages - i - 1));
  return schedule;
}

/// Groups of p microbatches go through one chunk after the other, forwards from the first, backwards from the last.
static std::vector<Action> eachGroup(Action::Kind kind, ScheduleSize size) {
  std::vector<Action> actions;
  for (int64_t first = 0; first < size.microbatches; first += size.stages)
    for (int64_t c = 0; c < size.chunks; ++c)
      for (int64_t mb = first; mb < std::min(first + size.stages, size.microbatches); ++mb)
        actions.push_back({kind, mb, kind == Action::Forward ? c : size.chunks - 1 - c});
  return actions;
}

// Interleaved 1F1B (arXiv 2104.04473, 2.2): v chunks on each stage make the parts v times smaller, and with them the
// bubble. 1F1B over groups of p microbatches, each of which goes through all chunks; stage i runs 2 (p - i - 1) +
// (v - 1) p forwards ahead. p = 2, v = 2, m = 4; actions of chunk 1 are marked '.
//
//   stage 0  F0 F1 F0'F1'F2    B0'F3 B1'F2'B0 F3'B1    B2'   B3'B2 B3
//   stage 1     F0 F1 F0'B0'F1'B1'F2 B0 F3 B1 F2'B2'F3'B3'B2    B3
Schedule p3d::makeInterleaved(ScheduleSize size) {
  if (size.chunks == 1)
    return make1F1B(size);
  // A last group that is not full comes back from one chunk to the next too early for its turn: all forwards go first.
  bool areFull = size.microbatches % size.stages == 0;
  Schedule schedule;
  for (int64_t i = 0; i < size.stages; ++i)
    schedule.push_back(alternate(eachGroup(Action::Forward, size), eachGroup(Action::Backward, size),
                                 areFull ? 2 * (size.stages - i - 1) + (size.chunks - 1) * size.stages
                                         : size.microbatches * size.chunks));
  return schedule;
}

static constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
static constexpr NamedSchedule kSchedules[] = {
    {"1f1b", make1F1B, false, Placement::Loop, 1, 1},
    {"auto", makeAuto, true, Placement::Loop, 1, 1},
    {"gpipe", makeGPipe, false, Placement::Loop, 1, 1},
    {"interleaved", makeInterleaved, false, Placement::Loop, 2, kAny},
    {"zb-h1", makeZeroBubbleH1, true, Placement::Loop, 1, 1},
    {"zb-h2", makeZeroBubbleH2, true, Placement::Loop, 1, 1},
    {"zb-v", makeZeroBubbleV, true, Placement::Vee, 2, 2},
};

ArrayRef<NamedSchedule> p3d::getSchedules() { return kSchedules; }

const NamedSchedule *p3d::findSchedule(StringRef name) {
  const NamedSchedule *found = find_if(kSchedules, [&](const NamedSchedule &entry) { return entry.name == name; });
  return found == std::end(kSchedules) ? nullptr : found;
}

std::string p3d::getScheduleNames() {
  return join(map_range(kSchedules, [](const NamedSchedule &entry) { return entry.name.str(); }), ", ");
}
