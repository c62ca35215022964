// The user's files against the programs, before a rank starts.
#pragma once
#include "runtime/tools/p3d-run/Build.h"
#include "runtime/tools/p3d-run/Cluster/Placement.h"
#include "runtime/tools/p3d-run/Flags.h"

namespace p3d {

/// Makes `line` go on after the checkpoint that --resume names, whose every byte it checks.
void resume(CommandLine &line, const Build &build);

/// A user error for everything that can be found wrong with the input, and for arenas that this machine cannot hold. Completes `line` by what follows from
/// the files; the root says how parameters are initialised.
void checkInputs(const Build &build, CommandLine &line, const Placement &placement);

} // namespace p3d
