// The end of a rank whose communication is wrong. The emulator's own form of fault() says that it is the emulator.
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Settings.h"
#include <atomic>
#include <fmt/format.h>
#include <unistd.h>

void p3d::emulator::fault(const std::string &text) {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true))
    for (;;)
      pause();
  int rank = settings().rank;
  std::string line =
      rank < 0 ? fmt::format("NCCL stand-in: {}\n", text) : fmt::format("NCCL stand-in: rank {}: {}\n", rank, text);
  _exit(write(2, line.data(), line.size()) < 0 ? faultExitCode + 1 : faultExitCode);
}
