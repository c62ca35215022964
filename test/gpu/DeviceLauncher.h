// The launcher of test/kernels/cuda/TestLauncher.h on a device, and the tests' buffers as memory that it shares.
#pragma once
#include "test/gpu/TestDevice.h"

namespace p3dtest {

/// From here to the end of the object's life testLauncher() and buffers belong to `device`.
class DeviceTests {
public:
  /// `multiprocessors`: how many the launchers are told of; 0 for those of the device. With few, blocks walk over
  /// several rows.
  DeviceTests(TestDevice &device, int multiprocessors);
  ~DeviceTests();
};

} // namespace p3dtest
