// The command lines of tools that make one file of several: FILE... -o OUT, and flags with one text.
#pragma once
#include "runtime/Error.h"
#include <functional>
#include <map>
#include <vector>

namespace p3d {

struct FileArguments {
  std::vector<std::string> inputs;
  std::string output;
  std::map<std::string, std::string> flags; ///< by name, those that were given
};

/// Reads them; a user error for a flag that is not in `known`, and where input or output is missing.
FileArguments readFileArguments(int argc, char **argv, const std::vector<std::string> &known, const std::string &usage);

/// main() of a tool: `help` is printed where it is asked for; errors get the name of the tool.
int runTool(const char *name, int argc, char **argv, const std::string &help, const std::function<int()> &body);

} // namespace p3d
