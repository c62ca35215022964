#include "test/emulator/Driver/Trace.h"
#include "test/emulator/Driver/Settings.h"
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <time.h>
#include <unistd.h>

namespace p3d::emulator {

double nowUs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

namespace {
struct Buffer {
  std::mutex mutex;
  std::string lines;
};
} // namespace

static Buffer &buffer() {
  static Buffer *only = new Buffer;
  return *only;
}

/// One write for whole lines: those of other ranks do not mix with them.
static void writeOut(std::string &lines) {
  static int file = open(settings().traceFile.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || write(file, lines.data(), lines.size()) != ssize_t(lines.size()))
    fmt::print(stderr, "emulator: cannot write the trace {}\n", settings().traceFile);
  lines.clear();
}

void traceCommand(const Command &command, unsigned stream, double startUs, double endUs) {
  if (settings().traceFile.empty())
    return;
  std::lock_guard<std::mutex> lock(buffer().mutex);
  auto add = [&](const std::string &label, size_t bytes) {
    buffer().lines += fmt::format("{{\"rank\":{},\"stream\":{},\"kind\":\"{}\",\"command\":\"{}\",\"start\":{:.1f},"
                                  "\"end\":{:.1f},\"bytes\":{}}}\n",
                                  settings().rank, stream, command.kind, label, startUs, endUs, bytes);
  };
  if (command.parts.empty())
    add(command.label, command.bytes);
  for (auto &[label, bytes] : command.parts)
    add(label, bytes);
  if (buffer().lines.size() > 60000)
    writeOut(buffer().lines);
}

void flushTrace() {
  if (settings().traceFile.empty())
    return;
  std::lock_guard<std::mutex> lock(buffer().mutex);
  if (!buffer().lines.empty())
    writeOut(buffer().lines);
}

} // namespace p3d::emulator
