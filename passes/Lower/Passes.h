// The passes of the lower level, and the way from its result to an executable.
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace p3d::lower {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Lower/Passes.h.inc"

/// Kernels to LLVM dialect, then the commands: from planned memory to nested modules of LLVM dialect.
void buildLowerPipeline(mlir::OpPassManager &passes);
/// The same where commands are enqueued on a GPU: kernels stay in a gpu.module, in the dialects llvm and nvvm.
void buildCudaLowerPipeline(mlir::OpPassManager &passes);
/// Names them p3d-lower and p3d-lower-cuda for p3dc-opt.
void registerLowerPipeline();
} // namespace p3d::lower
