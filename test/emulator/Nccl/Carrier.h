// What carries out the calls of Api.cpp beside a device. There are two: commands on the emulator's own streams
// (EmulatedCarrier.cpp), and a thread for each communicator beside the streams of any driver (test/gpu/Nccl).
#pragma once
#include "test/emulator/Nccl/Communicator.h"
#include <cuda.h>

namespace p3d::emulator {

class Carrier {
public:
  explicit Carrier(std::shared_ptr<Communicator> communicator) : communicator(std::move(communicator)) {}
  /// What was begun goes on until it ends.
  virtual ~Carrier() = default;

  /// Puts the work on the stream: it comes after what is there, and before what follows. Returns what is wrong, or
  /// nothing.
  virtual std::string carry(CUstream stream, const Collective &collective) = 0;
  /// Sends and receives of one group.
  virtual std::string carry(CUstream stream, const std::vector<Transfer> &transfers) = 0;

  const std::shared_ptr<Communicator> communicator;
};

/// A carrier and its communicator for the device of this thread. A std::runtime_error where that cannot be.
std::unique_ptr<Carrier> makeCarrier(const std::string &board, const std::string &name, int ranks, int rank);

/// The device whose context is current in this thread, or -1.
int deviceOfThread();
/// What is wrong with registering a buffer, or nothing. Registration changes no result.
std::string registerBuffer(const void *buffer, size_t bytes);
void deregisterBuffer();

} // namespace p3d::emulator
