// What a rank did when, for --trace: records in a file of its own, of which the launcher makes one picture of all ranks.
#pragma once
#include <cstdint>
#include <vector>

struct p3d_context;

namespace p3d {

/// Steps that a trace shows, from the first one of a run.
constexpr int64_t tracedSteps = 100;

struct TraceEvent {
  enum class Kind : int32_t { Task, Operation, Phase };
  int64_t startNs, endNs; ///< of the monotonic clock
  int64_t waitedNs;       ///< of that for other ranks
  int64_t step, mb;
  Kind kind;
  int32_t name; ///< number in the program's tasks or operations, or a Phase
};

/// What a step does besides its tasks.
enum class Phase : int32_t { Input, Update, Evaluation, Checkpoint };
const char *phaseName(int32_t phase);

class Trace {
public:
  /// Writes to `fd`, which is empty; -1: to nothing.
  explicit Trace(int fd) : fd(fd) {}
  bool isOn() const { return fd >= 0; }
  void add(const TraceEvent &event) { events.push_back(event); }
  /// Writes what was added since the last time. A user error if the disk is full.
  void flush();

  /// What a rank has written.
  static std::vector<TraceEvent> read(int fd);

private:
  int fd;
  std::vector<TraceEvent> events;
};

/// One event, from here to the end of the scope.
class TraceScope {
public:
  TraceScope(p3d_context &context, TraceEvent::Kind kind, int32_t name);
  TraceScope(p3d_context &context, Phase phase)
      : TraceScope(context, TraceEvent::Kind::Phase, int32_t(phase)) {}
  ~TraceScope();
  TraceScope(const TraceScope &) = delete;

private:
  p3d_context *context; ///< null: nothing is traced
  TraceEvent event;
};

} // namespace p3d
