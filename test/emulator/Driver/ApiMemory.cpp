// Allocation, copies, fills.
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Objects.h"
#include "test/emulator/Driver/Settings.h"
#include <cstring>
#include <fmt/format.h>

using namespace p3d::emulator;

static void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

static CUresult allocate(void **address, size_t bytes, MemoryKind kind) {
  return driverCall([&](Machine &machine) {
    if (!bytes)
      return CUDA_ERROR_INVALID_VALUE;
    *address = machine.memory.allocate(bytes, kind);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

/// Freeing memory is an access by the host: every command that used it has to have been waited for.
static CUresult release(void *address, MemoryKind kind) {
  if (!address)
    return CUDA_SUCCESS;
  return driverCall([&](Machine &machine) {
    Allocation allocation = machine.memory.find(address);
    if (allocation.begin != address || allocation.kind != kind)
      return CUDA_ERROR_INVALID_VALUE;
    size_t bytes = allocation.end - allocation.begin;
    Shadow::Conflict conflict = machine.shadow.unordered(machine.host, address, bytes);
    if (conflict.other)
      fault(fmt::format("race: the host frees an allocation of {} bytes that {} {}, without waiting for it", bytes,
                        machine.describe(conflict.other), conflict.otherWrote ? "writes" : "reads"));
    machine.memory.release(address, kind);
    machine.shadow.forget(address, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  return allocate(reinterpret_cast<void **>(address), bytes, MemoryKind::Device);
}
CUresult CUDAAPI cuMemFree(CUdeviceptr address) { return release(pointer(address), MemoryKind::Device); }
CUresult CUDAAPI cuMemHostAlloc(void **address, size_t bytes, unsigned int) {
  return allocate(address, bytes, MemoryKind::Host);
}
CUresult CUDAAPI cuMemFreeHost(void *address) { return release(address, MemoryKind::Host); }

CUresult CUDAAPI cuMemGetInfo(size_t *free, size_t *total) {
  return driverCall([&](Machine &machine) {
    *total = settings().memoryBytes;
    *free = *total - machine.memory.deviceBytes();
    return CUDA_SUCCESS;
  });
}

/// Poisons where a copy to the host will arrive, if nobody uses it: a host that reads without waiting meets NaN.
static void poisonTarget(Machine &machine, void *to, size_t bytes) {
  if (machine.memory.covers(to) && machine.memory.complaint(to, bytes).empty() &&
      !machine.shadow.unordered(machine.host, to, bytes).other)
    memset(to, 0xff, bytes);
}

static CUresult copy(const char *name, void *to, const void *from, size_t bytes, CUstream stream, bool isToHost) {
  return driverCall([&](Machine &machine) {
    if (!bytes)
      return CUDA_SUCCESS;
    Command command{
        "copy", fmt::format("{} of {} bytes", name, bytes),        bytes, {}, {reads(from, bytes), writes(to, bytes)},
        {},     [=](const Running &) { memmove(to, from, bytes); }};
    if (isToHost && streamOf(stream) && !streamOf(stream)->capture)
      poisonTarget(machine, to, bytes);
    return submit(machine, stream, std::move(command));
  });
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return copy("copy to device", pointer(to), from, bytes, stream, false);
}
CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy("copy to host", to, pointer(from), bytes, stream, true);
}
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy("copy on device", pointer(to), pointer(from), bytes, stream, false);
}

template <typename Element> static CUresult fill(CUdeviceptr to, Element value, size_t count, CUstream stream) {
  return driverCall([&](Machine &machine) {
    if (!count)
      return CUDA_SUCCESS;
    size_t bytes = count * sizeof(Element);
    return submit(machine, stream,
                  {"fill",
                   fmt::format("fill of {} bytes", bytes),
                   bytes,
                   {},
                   {writes(pointer(to), bytes)},
                   {},
                   [=](const Running &) { std::fill_n(reinterpret_cast<Element *>(to), count, value); }});
  });
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill(to, value, count, stream);
}
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return fill(to, value, count, stream);
}
