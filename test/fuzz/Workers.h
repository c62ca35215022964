// Cases in child processes, so that a crash or an endless loop is the fate of one case.
#pragma once

#include "FuzzCase.h"

namespace p3d::fuzz {

/// How a case ended: a verdict, or the death of its process.
struct Report {
  uint64_t seed;
  bool crashed;
  Verdict verdict;
};

struct Work {
  uint64_t firstSeed, count;
  unsigned jobs;
  double minutes; ///< 0: no limit
};

/// Runs the generated cases of `work` and calls `take` with each report, in any order. Returns the operations seen in cases that match.
llvm::StringSet<> runAll(const Work &work, llvm::function_ref<void(const Report &)> take);

/// The verdict on one case, in a process of its own.
Report runAlone(llvm::StringRef text, llvm::StringRef name);

/// The text of the case of `seed`.
std::string textOf(uint64_t seed);

} // namespace p3d::fuzz
