// Who happened before whom: a command is named by its stream and its number there; a clock says for each stream up to
// which command everything is known to be done.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

namespace p3d::emulator {

inline constexpr unsigned maxStreams = 64;

/// Stream in the upper bits, number (from 1) in the lower 25; 0 is no command. Bit 31 stays free.
using CommandId = uint32_t;
inline constexpr uint32_t maxCommands = (1u << 25) - 1; // of a stream
inline CommandId commandId(unsigned stream, uint32_t number) { return stream << 25 | number; }
inline unsigned streamOf(CommandId id) { return id >> 25; }
inline uint32_t numberOf(CommandId id) { return id & maxCommands; }

struct Clock {
  std::array<uint32_t, maxStreams> done{};

  void join(const Clock &other) {
    for (unsigned i = 0; i < maxStreams; ++i)
      done[i] = std::max(done[i], other.done[i]);
  }
  bool covers(CommandId id) const { return done[streamOf(id)] >= numberOf(id); }
};

} // namespace p3d::emulator
