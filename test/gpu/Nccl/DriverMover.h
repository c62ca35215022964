// Copies between a device and the host that are done when they return, on a stream of their own.
#pragma once
#include "runtime/Cuda/Owners.h"
#include "test/emulator/Nccl/Communicator.h"

namespace p3dtest {

class DriverMover : public p3d::emulator::Mover {
public:
  /// In the context that is current; so is every copy.
  DriverMover();
  void toHost(void *to, const char *from, size_t bytes) override;
  void toDevice(char *to, const void *from, size_t bytes) override;

private:
  p3d::Stream stream;
  p3d::PinnedMemory staging;
};

} // namespace p3dtest
