// What the runtime keeps on a device beside the program.
#pragma once
#include "runtime/Cuda/Owners.h"
#include <utility>
#include <vector>

namespace p3d {

/// Hands out a part of the arena, piece after piece; where that is used up, memory of its own.
class DevicePieces {
public:
  DevicePieces(CUdeviceptr memory, int64_t bytes) : next(memory), left(bytes) {}

  /// Memory that stays until the end; `what` names its use in a word.
  CUdeviceptr take(int64_t bytes, const char *what);

private:
  CUdeviceptr next;
  int64_t left;
  std::vector<DeviceMemory> own;
};

} // namespace p3d
