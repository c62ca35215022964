// A CUDA module on the host: LLVM bitcode for NVVM, compiled once per content into a cached shared object and run
// thread by thread. A test of a kernel needs nothing but this header:
//
//     auto module = EmulatedModule::loadFile("kernels.bc");
//     module->launch("scale", {blocks}, {256}, 0, x, 2.0f, n);   // x: a pointer to ordinary memory
#pragma once
#include "test/emulator/Kernel/Executor.h"
#include <memory>
#include <string>

namespace p3d::emulator {

class EmulatedModule {
public:
  /// Compiles or finds in the cache (P3D_EMULATOR_CACHE; else $XDG_CACHE_HOME/p3d-emulator; else /tmp/p3d-emulator-UID)
  /// the module with this bitcode. Throws KernelError with the compiler's message.
  static std::shared_ptr<EmulatedModule> load(const void *bitcode, size_t bytes);
  static std::shared_ptr<EmulatedModule> loadFile(const std::string &path);
  ~EmulatedModule();
  EmulatedModule(const EmulatedModule &) = delete;

  /// The kernel of this name, or null.
  const P3dKernel *find(const std::string &name) const;
  const P3dKernel *kernels() const { return table; }
  /// Whether the address lies in the module's own variables and constants.
  bool owns(const void *address) const;

  /// Runs a grid to its end in the calling thread; `arguments` point to the values, as for cuLaunchKernel.
  /// Throws KernelError: no such kernel, divergent or deadlocked waits, a trap.
  void launch(const std::string &name, Dim3 grid, Dim3 block, size_t sharedBytes, void **arguments) const;
  /// The same with the arguments themselves; their types must be those of the kernel's parameters.
  template <typename... Arguments>
  void launch(const std::string &name, Dim3 grid, Dim3 block, size_t sharedBytes, Arguments... arguments) const {
    void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., nullptr};
    size_t sizes[] = {sizeof(Arguments)..., 0};
    checkArguments(name, sizeof...(Arguments), sizes);
    launch(name, grid, block, sharedBytes, pointers);
  }

private:
  EmulatedModule(void *handle, const P3dKernel *table);
  void checkArguments(const std::string &name, size_t count, const size_t *bytes) const;
  void *handle;
  const P3dKernel *table;
  const char *first, *last; // the image in memory
};

} // namespace p3d::emulator
