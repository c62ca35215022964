// Pinned host memory between files and the device.
#pragma once
#include "runtime/Cuda/Owners.h"

namespace p3d {

class Staging {
public:
  /// Copies run on `stream`.
  explicit Staging(CUstream stream) : stream(stream) {}

  /// Memory that no copy uses. It is the caller's until all copies are waited for; where too little is left, that is
  /// done here.
  char *take(int64_t bytes);
  /// All copies are done.
  void clear() { used = 0; }

private:
  CUstream stream;
  PinnedMemory memory;
  int64_t capacity = 0, used = 0;
};

} // namespace p3d
