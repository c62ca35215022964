#include "test/emulator/Driver/Machine.h"
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Kernel/EmulatedModule.h"
#include <fmt/format.h>

namespace p3d::emulator {

Machine::Machine() : shadow(memory) {}

Machine &machine() {
  static Machine *only = new Machine;
  return *only;
}

Stream *Machine::createStream() {
  for (unsigned index = 0; index < maxStreams; ++index)
    if (!places[index]) {
      auto *stream = new Stream(index, lastNumbers[index]);
      std::lock_guard<std::mutex> lock(placesMutex);
      places[index] = stream;
      streams.insert(stream);
      return stream;
    }
  return nullptr;
}

void Machine::destroyStream(Stream *stream) {
  unsigned index = stream->index;
  {
    std::lock_guard<std::mutex> lock(placesMutex);
    places[index] = nullptr;
    lastNumbers[index] = stream->lastNumber;
    streams.erase(stream);
  }
  delete stream;
}

void Machine::addModule(std::shared_ptr<EmulatedModule> module) {
  std::lock_guard<std::mutex> lock(modulesMutex);
  modules[module.get()] = module;
}

void Machine::removeModule(const EmulatedModule *module) {
  std::lock_guard<std::mutex> lock(modulesMutex);
  modules.erase(module);
}

bool Machine::ownedByModule(const void *address) const {
  std::lock_guard<std::mutex> lock(modulesMutex);
  for (auto &[pointer, module] : modules)
    if (module->owns(address))
      return true;
  return false;
}

static size_t extent(const Range &range) { return range.count ? (range.count - 1) * range.pitch + range.bytes : 0; }

void Machine::checkBounds(const Command &command) const {
  for (const Range &range : command.ranges) {
    if (!extent(range) || !memory.covers(range.address))
      continue;
    std::string complaint = memory.complaint(range.address, extent(range));
    if (!complaint.empty())
      fault(fmt::format("\"{}\" {} {}", command.label, range.isWrite ? "writes" : "reads", complaint));
  }
}

void Machine::checkRanges(const Command &command, const Running &running) {
  for (const Range &range : command.ranges) {
    if (!extent(range) || !memory.covers(range.address))
      continue;
    auto *at = static_cast<const char *>(range.address);
    for (size_t i = 0; i < range.count; ++i, at += range.pitch) {
      Shadow::Conflict conflict = shadow.access(running.id, *running.clock, at, range.bytes, range.isWrite);
      if (conflict.other)
        fault(describeRace(running, conflict, range.isWrite));
    }
  }
}

std::string Machine::describe(CommandId id) const {
  std::lock_guard<std::mutex> lock(placesMutex);
  Stream *stream = places[streamOf(id)];
  return stream ? stream->describe(numberOf(id)) : fmt::format("a command of the destroyed stream {}", streamOf(id));
}

std::string Machine::describeRace(const Running &running, const Shadow::Conflict &conflict, bool isWrite) const {
  Allocation allocation = memory.find(conflict.address);
  return fmt::format("race: {} {} what {} {}, without a wait between them: offset {} of an allocation of {} bytes",
                     describe(running.id), isWrite ? "writes" : "reads", describe(conflict.other),
                     conflict.otherWrote ? "writes" : "reads",
                     static_cast<const char *>(conflict.address) - allocation.begin, allocation.end - allocation.begin);
}

} // namespace p3d::emulator
