// The command line of p3d-run: one table of flags, from which parsing, checking
// and --help come.
#pragma once
#include "runtime/Train/RunOptions.h"
#include "runtime/tools/p3d-run/Build.h"
#include <set>
#include <string>
#include <vector>

namespace p3d {

struct CommandLine {
  bool help = false, verify = false;
  int ranksPerHost = 0; ///< 0: all, here
  std::string directory;
  std::string init = "auto"; ///< or a file of rules
  RunOptions run;
  std::string log, exportPath, gradientsPath, tracePath;
  std::string resume;   ///< directory of checkpoints, or one of them
  int64_t keepLast = 0; ///< checkpoints; 0: all
  bool restarts = false; ///< from the last checkpoint, when a rank fails
  std::set<std::string> given; ///< names of the flags that were given
};

/// A user error for anything that is not in the table or has no sound value.
CommandLine parseCommandLine(const std::vector<std::string> &arguments);

/// A user error for a flag that has no effect with these programs.
void checkFlagsApply(const CommandLine &line, const Build &build);

std::string helpText();

} // namespace p3d
