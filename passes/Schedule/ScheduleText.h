// Schedules as text: a line for each stage with its actions, like "F0 F1 B0 F2 B1 B2".
#pragma once

#include "passes/Schedule/Action.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

namespace p3d {

/// Called with the fault and the place in the text that it is at.
using TextComplaint = llvm::function_ref<void(llvm::StringRef place, const llvm::Twine &fault)>;

/// Reads one line for each stage. A line may begin with its number, "stage 0:"; what stands behind a # is a comment.
/// Nothing, after a complaint, if the text is something else. Whether the orders can be run is the checker's to say.
std::optional<Schedule> parseSchedule(llvm::StringRef text, TextComplaint complain);

/// Such a text.
std::string printSchedule(const Schedule &schedule);

} // namespace p3d
