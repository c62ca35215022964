#include "test/gpu/TestDevice.h"
#include <cstdio>
#include <cstring>
#include <optional>

using namespace p3d;

namespace p3dtest {

TestDevice::TestDevice()
    : context(0), kernels({p3d_library_images}), stream(makeStream()), launcher(context, kernels) {}

std::string TestDevice::name() const {
  char text[256] = "";
  P3D_CU(cuDeviceGetName, text, int(sizeof(text)), context.device());
  return text;
}

int TestDevice::architecture() const {
  return 10 * context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::string takeFlag(int &argc, char **argv, const std::string &name, const std::string &otherwise) {
  std::string value = otherwise, start = "--" + name + "=";
  int kept = 1;
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], start.c_str(), start.size()) == 0)
      value = argv[i] + start.size();
    else
      argv[kept++] = argv[i];
  argc = kept;
  argv[kept] = nullptr;
  return value;
}

int runOnDevice(const std::function<int(TestDevice &)> &body) {
  // A driver that cannot be opened, or shows no device, is no fault of what is tested.
  try {
    driver();
  } catch (const DeviceError &error) {
    std::fprintf(stderr, "skipped: %s\n", error.what());
    return skipped;
  }
  try {
    TestDevice device;
    return body(device);
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

} // namespace p3dtest
