// p3dc from the command line to the files it writes.
#pragma once

namespace p3d {

/// Runs p3dc. Returns its exit code: 0, 1 when the user's input is at fault, 2 when p3dc is.
int runDriver(int argc, char **argv);

} // namespace p3d
