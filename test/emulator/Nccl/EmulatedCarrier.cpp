// Calls become commands of the emulator's streams: they declare what they read and write, and its workers run them.
#include "test/emulator/Driver/Exit.h"
#include "test/emulator/Driver/Objects.h"
#include "test/emulator/Nccl/Carrier.h"
#include <cstring>
#include <fmt/format.h>

namespace p3d::emulator {

namespace {
/// The emulated device's memory is the host's.
class EmulatedMover : public Mover {
public:
  void toHost(void *to, const char *from, size_t bytes) override { memcpy(to, from, bytes); }
  void toDevice(char *to, const void *from, size_t bytes) override { memcpy(to, from, bytes); }
};

class EmulatedCarrier : public Carrier {
public:
  explicit EmulatedCarrier(std::shared_ptr<Communicator> communicator) : Carrier(std::move(communicator)) {
    countOwned("communicator", 1);
  }
  ~EmulatedCarrier() override { countOwned("communicator", -1); }
  std::string carry(CUstream stream, const Collective &collective) override;
  std::string carry(CUstream stream, const std::vector<Transfer> &transfers) override;
};
} // namespace

static std::string complaintOf(CUresult result) {
  const char *name = "?";
  if (result != CUDA_SUCCESS)
    cuGetErrorName(result, &name);
  return result == CUDA_SUCCESS ? "" : fmt::format("the driver says {}", name);
}

/// Send and receive sides of a collective on this rank, in elements.
static std::vector<Range> rangesOf(const Collective &c, const Communicator &communicator) {
  size_t small = c.count * bytesOf(c.type), large = small * communicator.ranks;
  switch (c.kind) {
  case CollectiveKind::AllReduce:
    return {reads(c.from, small), writes(c.to, small)};
  case CollectiveKind::AllGather:
    return {reads(c.from, small), writes(c.to, large)};
  case CollectiveKind::ReduceScatter:
    return {reads(c.from, large), writes(c.to, small)};
  case CollectiveKind::Broadcast:
    if (communicator.rank == c.root)
      return {reads(c.from, small), writes(c.to, small)};
    return {writes(c.to, small)};
  case CollectiveKind::Reduce:
    if (communicator.rank == c.root)
      return {reads(c.from, small), writes(c.to, small)};
    return {reads(c.from, small)};
  }
  return {};
}

std::string EmulatedCarrier::carry(CUstream stream, const Collective &c) {
  auto communicator = this->communicator; // held by what still runs
  Command command;
  command.kind = "collective";
  command.label = fmt::format("{} on {}", describe(c), communicator->name);
  command.bytes = c.count * bytesOf(c.type);
  command.ranges = rangesOf(c, *communicator);
  command.ticket = [communicator] { return communicator->nextTicket(); };
  command.run = [communicator, c](const Running &running) { communicator->run(c, running.ticket); };
  return complaintOf(enqueue(stream, std::move(command)));
}

std::string EmulatedCarrier::carry(CUstream stream, const std::vector<Transfer> &transfers) {
  auto communicator = this->communicator;
  Command command;
  command.kind = "transfer";
  for (const Transfer &t : transfers) {
    size_t bytes = t.count * bytesOf(t.type);
    std::string label = fmt::format("{} on {}", describe(t), communicator->name);
    command.label += (command.label.empty() ? "" : ", ") + label;
    command.parts.push_back({label, bytes});
    command.bytes += bytes;
    command.ranges.push_back(t.isSend ? reads(t.address, bytes) : writes(t.address, bytes));
  }
  command.ticket = [communicator] { return communicator->nextTicket(); };
  command.run = [communicator, transfers](const Running &running) { communicator->run(transfers, running.ticket); };
  return complaintOf(enqueue(stream, std::move(command)));
}

std::unique_ptr<Carrier> makeCarrier(const std::string &board, const std::string &name, int ranks, int rank) {
  return std::make_unique<EmulatedCarrier>(
      std::make_shared<Communicator>(board, name, ranks, rank, std::make_unique<EmulatedMover>()));
}

int deviceOfThread() { return currentDevice(); }

/// Counted, so that a buffer left registered is a leak.
std::string registerBuffer(const void *buffer, size_t bytes) {
  std::string complaint = machine().memory.complaint(buffer, bytes);
  if (complaint.empty())
    countOwned("registered buffer", 1);
  return complaint;
}
void deregisterBuffer() { countOwned("registered buffer", -1); }

} // namespace p3d::emulator
