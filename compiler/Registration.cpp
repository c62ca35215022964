#include "compiler/Registration.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Exec/ExecOps.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "dialects/StableHLO/StableHLO.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Replicate/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Shard/Passes.h"
#include "passes/Stage/Passes.h"

void p3d::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect>();
  registry.insert<dist::DistDialect>();
  registry.insert<exec::ExecDialect>();
  registry.insert<graph::GraphDialect>();
  registry.insert<pipe::PipeDialect>();
  registry.insert<stablehlo::StableHLODialect>();
  registry.insert<chlo::ChloDialect>();
  registry.insert<sdy::SdyDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  // Kernels, and what they become.
  registry.insert<mlir::arith::ArithDialect, mlir::linalg::LinalgDialect, mlir::cf::ControlFlowDialect, mlir::gpu::GPUDialect, mlir::NVVM::NVVMDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
}

void p3d::registerPasses() {
  registerAutodiffPasses();
  registerImportPasses();
  lower::registerLowerPasses();
  lower::registerLowerPipeline();
  memory::registerMemoryPasses();
  partition::registerPartitionPasses();
  registerReplicatePasses();
  registerSchedulePasses();
  shard::registerShardPasses();
  registerStagePasses();
}
