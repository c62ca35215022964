// P3D_EMULATOR_TRACE=FILE: one JSON object on a line for each command that ran; all ranks append to the same file.
#pragma once
#include "test/emulator/Driver/Command.h"

namespace p3d::emulator {

double nowUs(); ///< of the monotonic clock, which all processes share
void traceCommand(const Command &command, unsigned stream, double startUs, double endUs);
/// Writes what is buffered; called by itself when there is much, and at the end of the process.
void flushTrace();

} // namespace p3d::emulator
