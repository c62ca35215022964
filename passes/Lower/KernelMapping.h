// How generated kernels run on a GPU: what p3d-map-kernels decides and p3d-lower-commands reads.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include <algorithm>

namespace p3d::lower {

/// On the gpu.module of the kernels: for each the number of blocks and of threads in a block.
inline constexpr llvm::StringLiteral kLaunchesAttr = "p3d.launches";

/// The name of a kernel on the device: PTX has no dots in names.
inline std::string deviceName(llvm::StringRef kernel) {
  std::string name = kernel.str();
  std::replace(name.begin(), name.end(), '.', '$');
  return name;
}

} // namespace p3d::lower
