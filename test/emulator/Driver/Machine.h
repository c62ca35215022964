// The emulated machine of one process: its memory, streams and order. One lock serialises the host's calls.
#pragma once
#include "test/emulator/Driver/Memory.h"
#include "test/emulator/Driver/Shadow.h"
#include "test/emulator/Driver/Stream.h"
#include <array>
#include <map>
#include <memory>
#include <set>

namespace p3d::emulator {

class EmulatedModule;

class Machine {
public:
  Machine();

  Memory memory;
  Shadow shadow;
  /// Everything that the host has waited for.
  Clock host;
  /// Held by each call of the driver's API while it touches the machine; never while it waits.
  std::mutex mutex;

  /// Null when all places are taken.
  Stream *createStream();
  void destroyStream(Stream *stream);
  bool knows(Stream *stream) const { return streams.count(stream) != 0; }
  size_t streamCount() const { return streams.size(); }
  /// Takes a module's own variables as memory that kernels may use.
  void addModule(std::shared_ptr<EmulatedModule> module);
  void removeModule(const EmulatedModule *module);

  /// Faults when a declared range is out of bounds (at enqueue) or races (when it runs).
  void checkBounds(const Command &command) const;
  void checkRanges(const Command &command, const Running &running);
  /// The text of a report.
  std::string describeRace(const Running &running, const Shadow::Conflict &conflict, bool isWrite) const;
  std::string describe(CommandId id) const;
  bool ownedByModule(const void *address) const;

private:
  std::set<Stream *> streams;
  mutable std::mutex placesMutex;
  std::array<Stream *, maxStreams> places{};
  std::array<uint32_t, maxStreams> lastNumbers{};
  mutable std::mutex modulesMutex;
  std::map<const EmulatedModule *, std::shared_ptr<EmulatedModule>> modules;
};

/// The machine of this process. It is never destroyed: workers may still run when the process ends.
Machine &machine();

} // namespace p3d::emulator
