// Owners of the driver's objects. Destructors never throw: what is still in use when the process ends is the driver's.
#pragma once
#include "runtime/Cuda/Driver.h"
#include <utility>

namespace p3d {

/// Owns a handle that `destroy` ends; a default handle stands for none.
template <typename Handle, void (*destroy)(Handle) noexcept> class Owner {
public:
  Owner() = default;
  explicit Owner(Handle handle) : handle(handle) {}
  Owner(Owner &&other) noexcept : handle(std::exchange(other.handle, Handle())) {}
  Owner &operator=(Owner &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Owner() { reset(); }

  Handle get() const { return handle; }
  explicit operator bool() const { return handle != Handle(); }
  void reset() {
    if (handle != Handle())
      destroy(std::exchange(handle, Handle()));
  }

private:
  Handle handle = Handle();
};

void destroyStream(CUstream stream) noexcept;
void destroyEvent(CUevent event) noexcept;
void unloadModule(CUmodule module) noexcept;
void freeDevice(CUdeviceptr memory) noexcept;
void freePinned(char *memory) noexcept;
void destroyGraph(CUgraph graph) noexcept;
void destroyGraphExec(CUgraphExec graph) noexcept;

using Stream = Owner<CUstream, destroyStream>;
using Event = Owner<CUevent, destroyEvent>;
using Module = Owner<CUmodule, unloadModule>;
using Graph = Owner<CUgraph, destroyGraph>;
using GraphExec = Owner<CUgraphExec, destroyGraphExec>;
using DeviceMemory = Owner<CUdeviceptr, freeDevice>;
/// Host memory that copies can run from while the host goes on.
using PinnedMemory = Owner<char *, freePinned>;

Stream makeStream();
/// An event for orders, or with `isTimed` one whose time can be taken.
Event makeEvent(bool isTimed = false);
Module loadModule(const void *image);
/// A DeviceError that says how much there is if `bytes` are too many; `what` names their use in a word.
DeviceMemory allocateDevice(int64_t bytes, const char *what);
/// All that allocateDevice has allocated in this process. The library of collectives and the driver take memory of their own.
int64_t allocatedDeviceBytes();
PinnedMemory allocatePinned(int64_t bytes);

/// The primary context of a device, current in the thread that makes it.
class Context {
public:
  explicit Context(int device);
  ~Context();
  Context(const Context &) = delete;

  CUdevice device() const { return handle; }
  int attribute(CUdevice_attribute attribute) const;
  /// Makes the context current in another thread.
  void enter() const;

private:
  CUdevice handle = 0;
  CUcontext context = nullptr;
};

} // namespace p3d
