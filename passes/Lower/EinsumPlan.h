// An einsum as strided matrix products inside loops: the plan that the kernel library takes.
#pragma once

#include "kernels/Kernels.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace p3d::lower {

/// The plan for dense row-major operands; nullopt if it needs more loops than a plan has.
std::optional<p3d_einsum_plan> planEinsum(llvm::StringRef spec, llvm::ArrayRef<int64_t> lhs,
                                          llvm::ArrayRef<int64_t> rhs, llvm::ArrayRef<int64_t> result);

} // namespace p3d::lower
