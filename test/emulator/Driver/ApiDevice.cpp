// Initialisation, devices, contexts.
#include "test/emulator/Driver/Exit.h"
#include "test/emulator/Driver/Objects.h"
#include "test/emulator/Driver/Settings.h"
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>

using namespace p3d::emulator;

/// By this symbol the runtime knows that modules may be LLVM bitcode.
extern "C" const int p3dEmulatorAcceptsBitcode = 1;

CUresult CUDAAPI cuInit(unsigned int flags) {
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (settings().devices < 1)
    return CUDA_ERROR_NO_DEVICE;
  std::lock_guard<std::mutex> lock(machine().mutex);
  objects().contexts.resize(settings().devices);
  if (!objects().isInitialised)
    watchExit();
  objects().isInitialised = true;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

static CUresult withDevice(CUdevice device, CUresult (*body)(CUdevice, void *), void *out) {
  if (!objects().isInitialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (device < 0 || device >= settings().devices)
    return CUDA_ERROR_INVALID_DEVICE;
  return out ? body(device, out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGetCount(int *count) {
  if (!objects().isInitialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  *count = settings().devices;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) {
  return withDevice(
      ordinal, [](CUdevice ordinal, void *out) { return *static_cast<CUdevice *>(out) = ordinal, CUDA_SUCCESS; },
      device);
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device) {
  if (length < 1)
    return CUDA_ERROR_INVALID_VALUE;
  name[0] = 0;
  CUresult result = withDevice(
      device, [](CUdevice, void *) { return CUDA_SUCCESS; }, name);
  if (result == CUDA_SUCCESS)
    strncat(name, fmt::format("Emulated GPU {}", device).c_str(), length - 1);
  return result;
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  return withDevice(
      device, [](CUdevice, void *out) { return *static_cast<size_t *>(out) = settings().memoryBytes, CUDA_SUCCESS; },
      bytes);
}

/// Those of an A100 unless they depend on the settings; -1: not emulated.
static int attributeOf(CUdevice_attribute attribute) {
  switch (int(attribute)) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return settings().architecture / 10;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return settings().architecture % 10;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return 108;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    return 64;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    return 0x7fffffff;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    return 65535;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return 2048;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    return 65536;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return 48 << 10;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return 163 << 10;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return 164 << 10;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return 40 << 20;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    return 1;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
  case CU_DEVICE_ATTRIBUTE_INTEGRATED:
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    return 0;
  }
  return -1;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  CUresult result = withDevice(
      device, [](CUdevice, void *) { return CUDA_SUCCESS; }, value);
  if (result == CUDA_SUCCESS && (*value = attributeOf(attribute)) < 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  return result;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  if (device < 0 || peer < 0 || device >= settings().devices || peer >= settings().devices)
    return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer && settings().hasPeerAccess;
  return CUDA_SUCCESS;
}

/// The number of a device is that of its bus.
static std::string busOf(int device) { return fmt::format("0000:{:02x}:00.0", device); }

CUresult CUDAAPI cuDeviceGetPCIBusId(char *name, int length, CUdevice device) {
  if (!objects().isInitialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (device < 0 || device >= settings().devices)
    return CUDA_ERROR_INVALID_DEVICE;
  std::string bus = busOf(device);
  if (!name || length <= int(bus.size()))
    return CUDA_ERROR_INVALID_VALUE;
  memcpy(name, bus.c_str(), bus.size() + 1);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *device, const char *name) {
  for (int number = 0; number < settings().devices; ++number)
    if (busOf(number) == name)
      return *device = number, CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_DEVICE;
}

/// A context is the number of its device, never null.
static CUcontext contextOf(int device) { return reinterpret_cast<CUcontext>(uintptr_t(device) + 1); }
static int deviceOf(CUcontext context) { return int(reinterpret_cast<uintptr_t>(context)) - 1; }

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return withDevice(
      device,
      [](CUdevice device, void *out) {
        std::lock_guard<std::mutex> lock(machine().mutex);
        ++objects().contexts[device];
        *static_cast<CUcontext *>(out) = contextOf(device);
        return CUDA_SUCCESS;
      },
      context);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  return withDevice(
      device,
      [](CUdevice device, void *) {
        std::lock_guard<std::mutex> lock(machine().mutex);
        if (objects().contexts[device] == 0)
          return CUDA_ERROR_INVALID_CONTEXT;
        --objects().contexts[device];
        return CUDA_SUCCESS;
      },
      &device);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  int device = deviceOf(context);
  if (context && (device >= settings().devices || !objects().contexts[device]))
    return CUDA_ERROR_INVALID_CONTEXT;
  setCurrentDevice(device);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context) {
  *context = currentDevice() < 0 ? nullptr : contextOf(currentDevice());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device) {
  *device = currentDevice();
  return currentDevice() < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  return driverCall([&](Machine &) {
    return deviceOf(peer) == currentDevice() ? CUDA_ERROR_INVALID_DEVICE
           : flags                           ? CUDA_ERROR_INVALID_VALUE
                                             : CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0, *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **address, int, cuuint64_t,
                                  CUdriverProcAddressQueryResult *status) {
  Dl_info self;
  void *library = dladdr(reinterpret_cast<void *>(&contextOf), &self) ? dlopen(self.dli_fname, RTLD_NOW) : nullptr;
  *address = nullptr;
  for (const char *version : {"_v4", "_v2", ""}) // of each function one form is defined
    if (library && !*address)
      *address = dlsym(library, (std::string(symbol) + version).c_str());
  if (library)
    dlclose(library);
  if (status)
    *status = *address ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
