#include "runtime/tools/p3d-run/TraceFile.h"
#include "runtime/Data/WholeFile.h"
#include "runtime/Error.h"
#include "runtime/Train/Trace.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace p3d {

TraceFile::TraceFile(const std::string &path, int ranks) : path(path) {
  for (int rank = 0; rank < ranks; ++rank) {
    int fd = open(directoryOf(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
      userError("{}: cannot be written: {}", path, std::strerror(errno));
    descriptors.push_back(fd);
  }
}

TraceFile::~TraceFile() {
  for (int fd : descriptors)
    close(fd);
}

namespace {
const char *categoryOf(TraceEvent::Kind kind) {
  return kind == TraceEvent::Kind::Task ? "task" : kind == TraceEvent::Kind::Operation ? "communication" : "phase";
}

std::string nameOf(const TraceEvent &event, const Program &program) {
  switch (event.kind) {
  case TraceEvent::Kind::Task: {
    const std::string &task = program.tasks.at(size_t(event.name));
    bool isOfMicrobatch = task != "prologue" && task != "synchronize" && task != "update";
    return isOfMicrobatch ? fmt::format("{} {}", task, event.mb) : task;
  }
  case TraceEvent::Kind::Operation:
    return program.operations.at(size_t(event.name));
  case TraceEvent::Kind::Phase:
    return phaseName(event.name);
  }
  internalError("an event of kind {}", int(event.kind));
}
} // namespace

void TraceFile::write(const Build &build) const {
  std::vector<std::vector<TraceEvent>> events;
  int64_t start = INT64_MAX;
  for (int fd : descriptors) {
    for (const TraceEvent &event : events.emplace_back(Trace::read(fd)))
      start = std::min(start, event.startNs);
  }
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  auto add = [&, separator = "\n"](const nlohmann::ordered_json &entry) mutable {
    text += separator + entry.dump();
    separator = ",\n";
  };
  for (size_t rank = 0; rank < events.size(); ++rank) {
    const Program &program = *build.programs[rank];
    Coordinates at = program.mesh.coordinates(int(rank));
    add({{"name", "process_name"}, {"ph", "M"}, {"pid", rank}, {"args", {{"name", fmt::format("rank {}: stage {}, tp {}, dp {}", rank, at.pp, at.tp, at.dp)}}}});
    add({{"name", "process_sort_index"}, {"ph", "M"}, {"pid", rank}, {"args", {{"sort_index", rank}}}});
    for (const TraceEvent &event : events[rank])
      add({{"name", nameOf(event, program)},
           {"cat", categoryOf(event.kind)},
           {"ph", "X"},
           {"ts", double(event.startNs - start) / 1e3},
           {"dur", double(event.endNs - event.startNs) / 1e3},
           {"pid", rank},
           {"tid", 0},
           {"args", {{"step", event.step}, {"waited_us", double(event.waitedNs) / 1e3}}}});
  }
  writeWhole(path, text + "\n]}\n");
}

} // namespace p3d
