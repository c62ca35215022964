// The value of --schedule where it names a file.
#pragma once

#include "passes/Schedule/Action.h"
#include "passes/Support/Placement.h"
#include "llvm/Support/Error.h"

namespace p3d {

/// Orders that somebody wrote.
struct WrittenSchedule {
  Schedule orders;
  Placement placement; ///< with which they can be run
};

/// Reads the file at `path` for so many stages and, unless 0, microbatches, and checks that it can be run. A fault of
/// the text is printed where it stands; the error says in one line what is wrong.
llvm::Expected<WrittenSchedule> readScheduleFile(llvm::StringRef path, int64_t stages, int64_t microbatches);

/// The same of a text; `where` is what the messages call it.
llvm::Expected<WrittenSchedule> readSchedule(llvm::StringRef text, llvm::StringRef where, int64_t stages,
                                             int64_t microbatches);

} // namespace p3d
