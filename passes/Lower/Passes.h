// The passes of the lower level, and the way from its result to an executable.
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace p3d::lower {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Lower/Passes.h.inc"

/// Kernels to LLVM dialect, then the commands: from planned memory to nested modules of LLVM dialect.
void buildLowerPipeline(mlir::OpPassManager &passes);
/// Names it p3d-lower for p3dc-opt.
void registerLowerPipeline();
} // namespace p3d::lower
