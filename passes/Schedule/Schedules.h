// The schedules that have a name. Pure functions, one table.
#pragma once

#include "passes/Schedule/Action.h"
#include "passes/Schedule/ScheduleCosts.h"
#include "passes/Support/Placement.h"

namespace p3d {

/// What a schedule is made for. Functions that need no chunks take their number as 1.
struct ScheduleSize {
  int64_t stages, microbatches, chunks = 1;
  // What only the search looks at.
  int64_t live = 0;    ///< the most microbatches alive on a stage; 0: as many as there are stages
  ScheduleCosts costs; ///< without tasks: the same time for each action
};

Schedule makeGPipe(ScheduleSize size);
Schedule make1F1B(ScheduleSize size);
Schedule makeInterleaved(ScheduleSize size);
Schedule makeZeroBubbleH1(ScheduleSize size);
Schedule makeZeroBubbleH2(ScheduleSize size);
/// For two chunks that are placed as a V.
Schedule makeZeroBubbleV(ScheduleSize size);
/// Searched for the least idle time within the limit of live microbatches. Never worse than those above that keep it.
Schedule makeAuto(ScheduleSize size);

struct NamedSchedule {
  llvm::StringLiteral name;
  Schedule (*make)(ScheduleSize size);
  bool splitsBackward;
  /// Where the chunks stand, how many there are if nothing else is said, and the most that it can have.
  Placement placement;
  int64_t chunks, mostChunks;
};

/// All schedules by the name that the option takes.
llvm::ArrayRef<NamedSchedule> getSchedules();
/// The schedule of this name, or null.
const NamedSchedule *findSchedule(llvm::StringRef name);
/// "1f1b, gpipe".
std::string getScheduleNames();

} // namespace p3d
