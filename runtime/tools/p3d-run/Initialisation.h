// How parameters start: by their use, as the program says, or by the rules of --init=FILE.
#pragma once
#include "runtime/tools/p3d-run/Build.h"

namespace p3d {

/// What the rules in the JSON file `path` say of the parameters of `build`. It is a list of {"pattern", "kind", "std"}; of the rules whose pattern, a regular
/// expression, is all of a name the first holds. A user error for a rule that is none, or that holds for no parameter.
std::map<std::string, Init> readInitialisation(const std::string &path, const Build &build);

/// Says how each parameter starts that no file gives.
void printInitialisation(const Build &build, const std::map<std::string, Init> &rules);

} // namespace p3d
