// The tests of the CUDA kernels on a device: p3d_gpu_kernels_test [--multiprocessors=N] [--gtest_filter=...]
#include "test/gpu/DeviceLauncher.h"
#include "test/kernels/cuda/TestLauncher.h"
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace p3dtest;

int main(int argc, char **argv) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // a fork of a process that has a device may not use it
  testing::InitGoogleTest(&argc, argv);
  int multiprocessors = std::atoi(takeFlag(argc, argv, "multiprocessors", "0").c_str());
  if (argc > 1) {
    std::fprintf(stderr, "unknown argument %s; expected --multiprocessors=N or flags of GoogleTest\n", argv[1]);
    return 1;
  }
  return runOnDevice([&](TestDevice &device) {
    DeviceTests tests(device, multiprocessors);
    std::printf("device: %s, sm_%d, %d multiprocessors\n", device.name().c_str(), device.architecture(),
                testLauncher()->multiprocessors);
    return RUN_ALL_TESTS();
  });
}
