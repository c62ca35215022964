// Turns a CUDA module in NVVM bitcode into a shared object for this machine: the steps in order, each in the file of
// its name. A step that meets what the emulator does not have says so and ends the program.
#pragma once
#include "llvm/IR/Module.h"
#include <memory>
#include <string>
#include <vector>

namespace p3d::emulator {

/// Prints "emulator: TEXT" and exits with 1.
[[noreturn]] void refuse(const llvm::Twine &text);

/// What has to be remembered of the device's form, which hostForm drops.
struct DeviceFacts {
  struct Kernel {
    std::string name;
    unsigned maxThreads = 0; ///< 0: not bounded
  };
  std::vector<Kernel> kernels;
  std::vector<std::string> sharedVariables;
};

/// The kernels (by annotation or calling convention) and the __shared__ variables of `module`. Names those without one.
DeviceFacts readDeviceFacts(llvm::Module &module);

/// Makes each `llvm.nvvm.*` call and each inline assembly a call of the device function of that name in `device`.
void nameDeviceFunctions(llvm::Module &module, const llvm::Module &device);

/// `module` with the host's triple and layout, without address spaces, and with the device functions linked in.
std::unique_ptr<llvm::Module> hostForm(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::Module> device,
                                       const llvm::DataLayout &layout, llvm::StringRef triple);

/// A kernel as thread(context, arguments), everything inlined, and its static shared memory laid out.
struct ThreadFunction {
  llvm::Function *function;
  std::string name;
  unsigned maxThreads;
  unsigned sharedBytes;
  std::vector<uint32_t> argumentBytes;
};
std::vector<ThreadFunction> makeThreadFunctions(llvm::Module &module, const DeviceFacts &facts);

/// Puts a call of p3dCheckAccess before each access of a thread function to memory that is not its own.
void checkAccesses(llvm::Module &module, const std::vector<ThreadFunction> &threads);

/// The exported table `p3dKernels`.
void emitKernelTable(llvm::Module &module, const std::vector<ThreadFunction> &threads);

} // namespace p3d::emulator
