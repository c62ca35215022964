#include "compiler/Registration.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "dialects/StableHLO/StableHLO.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Replicate/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Shard/Passes.h"
#include "passes/Stage/Passes.h"

void p3d::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect>();
  registry.insert<dist::DistDialect>();
  registry.insert<graph::GraphDialect>();
  registry.insert<pipe::PipeDialect>();
  registry.insert<stablehlo::StableHLODialect>();
  registry.insert<chlo::ChloDialect>();
  registry.insert<sdy::SdyDialect>();
}

void p3d::registerPasses() {
  registerAutodiffPasses();
  registerImportPasses();
  partition::registerPartitionPasses();
  shard::registerShardPasses();
  registerReplicatePasses();
  registerSchedulePasses();
  registerStagePasses();
}
