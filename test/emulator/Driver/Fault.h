// The end of a process that did what a GPU would not forgive: one line on stderr that begins with "emulator: rank R:",
// and an exit code that nothing else uses.
#pragma once
#include <string>

namespace p3d::emulator {

inline constexpr int faultExitCode = 97;

/// With what the line begins: "emulator", or the name of a library that shares this code. Each library defines it.
extern const char *const faultSpeaker;

/// Prints the report and ends the process at once. Of several threads that fault the first reports.
[[noreturn]] void fault(const std::string &text);

} // namespace p3d::emulator
