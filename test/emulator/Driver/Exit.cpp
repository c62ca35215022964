#include "test/emulator/Driver/Exit.h"
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Objects.h"
#include "test/emulator/Driver/Trace.h"
#include <cstdlib>
#include <fmt/format.h>

namespace p3d::emulator {

static int exitStatus = 0;

static std::map<std::string, int> &otherObjects() {
  static auto *counts = new std::map<std::string, int>;
  return *counts;
}

void countOwned(const char *what, int change) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  otherObjects()[what] += change;
}

void watchExit() {
  on_exit([](int status, void *) { exitStatus = status; }, nullptr);
}

static std::string leaks() {
  std::string text;
  auto add = [&](size_t count, const std::string &what) {
    if (count)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, what, count == 1 ? "" : "s");
  };
  Machine &m = machine();
  int contexts = 0;
  for (int retained : objects().contexts)
    contexts += retained;
  add(m.streamCount(), "stream");
  add(objects().events.count(), "event");
  add(m.memory.count(MemoryKind::Device), "device allocation");
  add(m.memory.count(MemoryKind::Host), "pinned host allocation");
  add(objects().modules.count(), "module");
  add(objects().graphs.count(), "graph");
  add(objects().executables.count(), "executable graph");
  for (auto &[what, count] : otherObjects())
    add(count, what);
  add(contexts, "primary context");
  return text;
}

/// When the library is finished, after the program's own exit handlers and destructors.
__attribute__((destructor)) static void atEnd() {
  flushTrace();
  if (!objects().isInitialised || exitStatus != 0)
    return;
  std::string text = leaks();
  if (!text.empty())
    fault("leak: the process ends with " + text);
}

} // namespace p3d::emulator
