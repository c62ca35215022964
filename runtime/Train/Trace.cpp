#include "runtime/Train/Trace.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Context.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace p3d {

const char *phaseName(int32_t phase) {
  switch (Phase(phase)) {
  case Phase::Input:
    return "input";
  case Phase::Update:
    return "update";
  case Phase::Evaluation:
    return "evaluation";
  case Phase::Checkpoint:
    return "checkpoint";
  }
  internalError("phase number {} is unknown", phase);
}

void Trace::flush() {
  const char *data = reinterpret_cast<const char *>(events.data());
  size_t left = events.size() * sizeof(TraceEvent);
  while (left > 0) {
    ssize_t written = write(fd, data, left);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      userError("--trace: the events of a step cannot be written: {}",
                std::strerror(errno));
    data += written;
    left -= size_t(written);
  }
  events.clear();
}

std::vector<TraceEvent> Trace::read(int fd) {
  off_t bytes = lseek(fd, 0, SEEK_END);
  std::vector<TraceEvent> events(size_t(std::max<off_t>(bytes, 0)) /
                                 sizeof(TraceEvent));
  size_t size = events.size() * sizeof(TraceEvent), done = 0;
  while (done < size) {
    ssize_t count = pread(fd, reinterpret_cast<char *>(events.data()) + done,
                          size - done, off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    // unreachable from input: the file is this run's own
    if (count <= 0)
      internalError("the events of --trace cannot be read: {}",
                    std::strerror(errno));
    done += size_t(count);
  }
  return events;
}

TraceScope::TraceScope(p3d_context &context, TraceEvent::Kind kind,
                       int32_t name)
    : context(context.trace && context.trace->isOn() ? &context : nullptr) {
  if (!this->context)
    return;
  RankArea &area = context.area();
  event = {monotonicNs(), 0, context.transport.waitedNs(),
           area.step.load(std::memory_order_relaxed),
           area.mb.load(std::memory_order_relaxed), kind, name};
}

TraceScope::~TraceScope() {
  if (!context)
    return;
  event.endNs = monotonicNs();
  event.waitedNs = context->transport.waitedNs() - event.waitedNs;
  context->trace->add(event);
}

} // namespace p3d
