#include "compiler/Registration.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "dialects/StableHLO/StableHLO.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Import/Passes.h"

void p3d::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, stablehlo::StableHLODialect, chlo::ChloDialect, sdy::SdyDialect,
                  graph::GraphDialect, dist::DistDialect, pipe::PipeDialect>();
}

void p3d::registerPasses() { registerImportPasses(); }
