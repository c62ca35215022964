//===- Passes.td - from programs to LLVM --------------------------------------------------------------------------===//
#ifndef P3D_LOWER_PASSES
#define P3D_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"p3d-expand-math", "::mlir::ModuleOp"> {
  let summary = "f32 functions as polynomials, which a vectoriser can take, and bf16 conversions as integer arithmetic";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def LowerCommands : Pass<"p3d-lower-commands", "::mlir::ModuleOp"> {
  let summary = "programs and functions of commands become LLVM functions that call kernels and the runtime";
  let description = [{
    Needs planned memory and kernels in LLVM form. Leaves the module `@common` (kernels, and one function per exec.function) and for each program a module
    with a function per task, the table `p3d_tasks` and the description `p3d_program` (see runtime.h).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
