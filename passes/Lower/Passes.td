//===- Passes.td - from programs to LLVM --------------------------------------------------------------------------===//
#ifndef P3D_LOWER_PASSES
#define P3D_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"p3d-expand-math", "::mlir::ModuleOp"> {
  let summary = "f32 functions as polynomials, which a vectoriser can take, and bf16 conversions as integer arithmetic";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def SplitKernels : Pass<"p3d-split-kernels", "::mlir::ModuleOp"> {
  let summary = "generated kernels become loops, of which threads can share one";
  let description = [{
    A kernel of one linalg.generic with enough work gets two more arguments, begin and end of a loop whose iterations make different results, and the attribute `p3d.split`: the loop's
    extent, and the least extent of a part. It is the outermost parallel loop with many iterations. Each result is computed as it would be in the whole loop.

        func.func @kernel.tanh(%x, %y) { linalg.generic .. }
          ->   func.func @kernel.tanh(%x, %y, %begin: index, %end: index) attributes {p3d.split = array<i64: 65536, 16384>} { scf.for %i = %begin to %end .. }
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def MapKernels : Pass<"p3d-map-kernels", "::mlir::ModuleOp"> {
  let summary = "generated kernels become functions of a gpu.module";
  let description = [{
    A thread for each result, which sums by itself. Where nothing is summed and the innermost loop is contiguous in memory that is known to be aligned, a thread for
    16 bytes of neighbouring results, which loads and stores vectors and computes each result as it would alone. Where long sums have few results, a block for each, whose threads join their sums in a tree, or for 32 results that
    lie side by side, so that a warp reads a row of memory. Which element
    comes after which is the same on every run. The module's attribute `p3d.launches` says how many blocks and threads each kernel has.

        func.func @kernel.tanh(..) { linalg.generic .. }   ->   gpu.module @kernels { gpu.func @kernel.tanh(..) kernel { %i = .. ; .. memref.store } }
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::cf::ControlFlowDialect", "::mlir::vector::VectorDialect"];
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
