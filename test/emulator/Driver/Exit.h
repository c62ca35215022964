// What is looked at when the process ends.
#pragma once

namespace p3d::emulator {

/// From now on a process that ends with exit code 0 while it still owns streams, events, memory, modules, graphs or
/// contexts, or has commands that nobody waited for, faults instead.
void watchExit();
/// Counts a further kind of object (communicators, BLAS handles) as something to be destroyed; `change` is +1 or -1.
void countOwned(const char *what, int change);

} // namespace p3d::emulator
