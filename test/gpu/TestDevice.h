// The device that the programs of this directory run on: the first that the driver shows, with the kernels of the
// build.
#pragma once
#include "runtime/Cuda/Launcher.h"
#include <functional>
#include <string>

namespace p3dtest {

/// The exit code of a test that cannot run here; ctest counts it as skipped.
inline constexpr int skipped = 77;

class TestDevice {
public:
  /// Throws a DeviceError where there is none.
  TestDevice();

  std::string name() const;
  /// 90 for compute capability 9.0.
  int architecture() const;
  /// Waits for everything that was enqueued.
  void synchronize() { P3D_CU(cuStreamSynchronize, stream.get()); }

  p3d::Context context;
  p3d::KernelTable kernels;
  p3d::Stream stream;
  p3d::Launcher launcher;
};

/// The value of `--name=VALUE` among the arguments, or `otherwise`; takes it out of them.
std::string takeFlag(int &argc, char **argv, const std::string &name, const std::string &otherwise);

/// `body(device)`, which gives the exit code of the program. Without a device: why, on stderr, and `skipped`.
int runOnDevice(const std::function<int(TestDevice &)> &body);

} // namespace p3dtest
