#include "compiler/Progress.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d;

/// How often the seconds are counted on.
static constexpr std::chrono::milliseconds kPeriod(500);

Progress::Progress(llvm::raw_ostream &os, bool isTerminal, std::chrono::milliseconds patience) : os(os) {
  if (isTerminal)
    thread = std::thread([this, patience] { show(patience); });
}

void Progress::finish() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    isDone = true;
  }
  changed.notify_all();
  thread.join();
  thread = {};
}

void Progress::enter(std::string next) {
  std::lock_guard lock(mutex);
  step = std::move(next);
  changed.notify_all();
}

// not messages: what a terminal shows meanwhile
void Progress::show(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex);
  if (changed.wait_for(lock, patience, [this] { return isDone; }))
    return;
  while (!isDone) {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // Whatever is printed next begins at the start of the line.
    os << llvm::formatv("\033[K{0}, {1:F1} s\r", step, seconds);
    os.flush();
    std::string shown = step;
    changed.wait_for(lock, kPeriod, [&] { return isDone || step != shown; });
  }
  os << "\033[K";
  os.flush();
}
