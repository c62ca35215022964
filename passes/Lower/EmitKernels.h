// From the gpu.module of generated kernels to what travels in an executable: machine code for each architecture asked for, PTX for newer devices, and bitcode for
// the emulated driver.
#pragma once

#include "passes/Lower/EmitObject.h"

namespace p3d::lower {

struct KernelOptions {
  /// Compute capabilities (80 for sm_80); the lowest is that of the PTX.
  llvm::SmallVector<int64_t> architectures;
  /// Where libdevice.10.bc is, if not in the toolkit.
  std::string libraryDir;
};

/// The numbers are those of runtime.h.
enum class ImageKind { Fatbin = 0, Ptx = 1, Bitcode = 2 };

struct KernelImage {
  ImageKind kind;
  int64_t architecture; ///< of PTX; 0 where it does not matter
  std::string bytes;
};

/// Emits an error unless each of `architectures` is one that code can be generated for.
mlir::LogicalResult checkArchitectures(mlir::Location loc, llvm::ArrayRef<int64_t> architectures);

/// All forms of the kernels of `lowered`, a module that p3d-lower-cuda has made. Without ptxas and fatbinary the PTX stands alone, with a remark that says so. Emits
/// an error for a kernel that cannot be compiled.
mlir::FailureOr<std::vector<KernelImage>> emitKernels(mlir::ModuleOp lowered, const KernelOptions &options);

/// The PTX of the kernels alone, for reading.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp lowered, const KernelOptions &options);

/// An object for this machine that holds the images, and the table `p3d_images` of runtime.h.
mlir::FailureOr<ObjectCode> embedImages(mlir::Location loc, llvm::ArrayRef<KernelImage> images, const EmitOptions &options);

} // namespace p3d::lower
