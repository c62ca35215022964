#include "runtime/Cuda/Driver.h"

namespace p3d {

static Driver openDriver() {
  SharedLibrary library("libcuda.so.1", "it comes with the NVIDIA driver, which a program for --target=cuda needs");
  Driver table{};
#define P3D_FIND(name) table.name = reinterpret_cast<decltype(&::name)>(library.need(P3D_CALL_NAME(name)));
  P3D_DRIVER_CALLS(P3D_FIND)
#undef P3D_FIND
  table.acceptsBitcode = library.find("p3dEmulatorAcceptsBitcode") != nullptr;
  CUresult result = table.cuInit(0);
  int devices = 0;
  if (result == CUDA_SUCCESS)
    result = table.cuDeviceGetCount(&devices);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && devices == 0))
    deviceError("this machine has no CUDA device, or CUDA_VISIBLE_DEVICES hides it");
  // unreachable from input: it is the machine's driver that fails
  if (result != CUDA_SUCCESS)
    deviceError("the NVIDIA driver does not start: cuInit gives error {}", int(result));
  return table;
}

const Driver &driver() {
  static const Driver table = openDriver();
  return table;
}

void checkDriver(CUresult result, const char *call) {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr, *text = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &text);
  deviceError("{}: {} ({})", call, name ? name : "unknown", text ? text : "unknown");
}

} // namespace p3d
