// Schedules as data: for each stage, the order of its forwards and backwards. Pure functions, one table.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace p3d {

/// F, B or W of one microbatch. Where no W appears, B is the whole backward.
struct Action {
  enum Kind { Forward, Backward, WeightGradient } kind;
  int64_t microbatch;
  bool operator==(const Action &other) const { return kind == other.kind && microbatch == other.microbatch; }
};

/// "F0", "B3", "W1".
std::string toString(Action action);
/// The action of this text, if it is one.
std::optional<Action> parseAction(llvm::StringRef text);

using StageOrder = std::vector<Action>;
/// One order for each stage.
using Schedule = std::vector<StageOrder>;

Schedule makeGPipe(int64_t stages, int64_t microbatches);
Schedule make1F1B(int64_t stages, int64_t microbatches);

struct NamedSchedule {
  llvm::StringLiteral name;
  Schedule (*make)(int64_t stages, int64_t microbatches);
};

/// All schedules by the name that the option takes.
llvm::ArrayRef<NamedSchedule> getSchedules();
/// The schedule of this name, or null.
const NamedSchedule *findSchedule(llvm::StringRef name);
/// "1f1b, gpipe".
std::string getScheduleNames();

} // namespace p3d
