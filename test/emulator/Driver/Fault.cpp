#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Settings.h"
#include "test/emulator/Driver/Trace.h"
#include <atomic>
#include <fmt/format.h>
#include <unistd.h>

namespace p3d::emulator {

void fault(const std::string &text) {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true))
    for (;;)
      pause();
  int rank = settings().rank;
  std::string line = rank < 0 ? fmt::format("{}: {}\n", faultSpeaker, text)
                              : fmt::format("{}: rank {}: {}\n", faultSpeaker, rank, text);
  if (write(2, line.data(), line.size()) < 0)
    _exit(faultExitCode + 1);
  flushTrace();
  _exit(faultExitCode);
}

} // namespace p3d::emulator
