// The order of the passes of this level.
#include "passes/Lower/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void p3d::lower::buildLowerPipeline(OpPassManager &passes) {
  passes.addPass(createSplitKernels());
  // Before the functions become calls: polynomials vectorise, calls do not.
  passes.addPass(createExpandMath());
  passes.addPass(createConvertSCFToCFPass());
  passes.addPass(createConvertMathToLLVMPass());
  // What has neither a polynomial nor an intrinsic is a call of libm.
  passes.addPass(createConvertMathToLibmPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createLowerCommands());
}

void p3d::lower::buildCudaLowerPipeline(OpPassManager &passes) {
  passes.addPass(createMapKernels());
  OpPassManager &kernels = passes.nest<gpu::GPUModuleOp>();
  kernels.addPass(createConvertSCFToCFPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  kernels.addPass(createConvertGpuOpsToNVVMOps(options));
  // What libdevice has no function for.
  kernels.addPass(createConvertMathToLLVMPass());
  // What is left of vectors are their elements.
  kernels.addPass(createConvertVectorToLLVMPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createLowerCommands());
}

void p3d::lower::registerLowerPipeline() {
  // not messages: what p3dc-opt --help says
  PassPipelineRegistration<>("p3d-lower-cuda", "from planned memory to LLVM dialect that enqueues kernels of a gpu.module", buildCudaLowerPipeline);
  // not messages: the help of p3dc-opt.
  PassPipelineRegistration<>("p3d-lower", "from planned memory to modules of LLVM dialect", buildLowerPipeline);
}
