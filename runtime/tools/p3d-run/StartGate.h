// Ranks of devices wait at the start until all are ready: whoever does not come, and devices that two ranks have taken,
// are then found before anything hangs in a library.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"

namespace p3d {

class StartGate {
public:
  StartGate(const Control &control, double timeoutSeconds) : control(control), timeoutSeconds(timeoutSeconds) {}

  /// Opens once all ranks are ready; true: it is open. Throws if two ranks have one device, or if for the length of the
  /// timeout no rank has come to those that are ready.
  bool check();

private:
  void checkDevices() const;
  const Control &control;
  const double timeoutSeconds;
  size_t ready = 0;
  int64_t lastNs = 0; ///< when the last one came
};

} // namespace p3d
