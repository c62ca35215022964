// What a stream carries. A command declares the memory it touches; a kernel's accesses are seen as it runs.
#pragma once
#include "test/emulator/Driver/Clock.h"
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace p3d::emulator {

/// `count` pieces of `bytes`, `pitch` apart. Memory that the driver did not allocate is not looked at.
struct Range {
  const void *address;
  size_t bytes, pitch, count;
  bool isWrite;
};
inline Range reads(const void *address, size_t bytes) { return {address, bytes, bytes, 1, false}; }
inline Range writes(const void *address, size_t bytes) { return {address, bytes, bytes, 1, true}; }

class Completion;
class Executor;

/// A command that runs: its place in the order.
struct Running {
  CommandId id;
  const Clock *clock;
  uint64_t ticket;
  Executor *executor; ///< of its stream
  Clock *learnt; ///< of its stream: what waits have brought that the host did not know; later commands come after it
};

struct Command {
  std::string kind;  ///< kernel, copy, fill, matmul, collective, transfer, host, event, wait
  std::string label; ///< for reports and the trace
  size_t bytes = 0;  ///< that it moves; of a collective, the call's count
  std::vector<std::pair<std::string, size_t>>
      parts; ///< calls that became one command: label and bytes of each, for the trace
  std::vector<Range> ranges;
  std::function<uint64_t()>
      ticket; ///< asked each time the command is put on a stream, in the host's order; may be empty
  std::function<void(const Running &)> run;
  std::shared_ptr<Completion> completion; ///< finished once the stream counts the command as done; may be null
};

} // namespace p3d::emulator
