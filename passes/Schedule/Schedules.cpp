// The schedules. Charts show p = 3 stages, m = 4 microbatches, F and B of equal length.
#include "passes/Schedule/Schedules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;
using namespace p3d;

static constexpr StringLiteral kActionLetters = "FBW";

std::string p3d::toString(Action action) { return kActionLetters[action.kind] + std::to_string(action.microbatch); }

std::optional<Action> p3d::parseAction(StringRef text) {
  size_t kind = text.empty() ? StringRef::npos : kActionLetters.find(text.front());
  int64_t microbatch;
  if (kind == StringRef::npos || text.drop_front().getAsInteger(10, microbatch) || microbatch < 0)
    return std::nullopt;
  return Action{Action::Kind(kind), microbatch};
}

// GPipe (arXiv 1811.06965): all forwards, then all backwards; every microbatch is alive at the turn.
//
//   stage 0  F0 F1 F2 F3             B0 B1 B2 B3
//   stage 1     F0 F1 F2 F3       B0 B1 B2 B3
//   stage 2        F0 F1 F2 F3 B0 B1 B2 B3
Schedule p3d::makeGPipe(int64_t stages, int64_t microbatches) {
  StageOrder order;
  for (Action::Kind kind : {Action::Forward, Action::Backward})
    for (int64_t mb = 0; mb < microbatches; ++mb)
      order.push_back({kind, mb});
  return Schedule(stages, order);
}

// 1F1B, "PipeDream-Flush" (arXiv 2104.04473): stage i runs p - i - 1 forwards ahead, then one forward and one backward
// in turn, so that at most p - i microbatches are alive.
//
//   stage 0  F0 F1 F2       B0 F3 B1    B2    B3
//   stage 1     F0 F1    B0 F2 B1 F3 B2    B3
//   stage 2        F0 B0 F1 B1 F2 B2 F3 B3
Schedule p3d::make1F1B(int64_t stages, int64_t microbatches) {
  Schedule schedule(stages);
  for (int64_t i = 0; i < stages; ++i) {
    int64_t ahead = std::min(stages - i - 1, microbatches);
    for (int64_t mb = 0; mb < ahead; ++mb)
      schedule[i].push_back({Action::Forward, mb});
    for (int64_t mb = 0; mb < microbatches; ++mb) {
      if (mb + ahead < microbatches)
        schedule[i].push_back({Action::Forward, mb + ahead});
      schedule[i].push_back({Action::Backward, mb});
    }
  }
  return schedule;
}

static constexpr NamedSchedule kSchedules[] = {{"1f1b", make1F1B}, {"gpipe", makeGPipe}};

ArrayRef<NamedSchedule> p3d::getSchedules() { return kSchedules; }

const NamedSchedule *p3d::findSchedule(StringRef name) {
  const NamedSchedule *found = find_if(kSchedules, [&](const NamedSchedule &entry) { return entry.name == name; });
  return found == std::end(kSchedules) ? nullptr : found;
}

std::string p3d::getScheduleNames() {
  return join(map_range(kSchedules, [](const NamedSchedule &entry) { return entry.name.str(); }), ", ");
}
