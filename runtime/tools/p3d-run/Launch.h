// Runs the ranks that this launcher has to start, from the check of the user's files to the end.
#pragma once
#include <string>
#include <vector>

namespace p3d {

/// p3d-run with these arguments. Prints what went wrong; returns the exit code.
int launchHere(const std::vector<std::string> &arguments);

/// DIR/bin/rank with these arguments: one rank of `directory`, which one the environment says.
int launchRank(const std::string &directory, const std::vector<std::string> &arguments);

} // namespace p3d
