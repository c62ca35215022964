#include "compiler/Registration.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

void p3d::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, graph::GraphDialect, dist::DistDialect, pipe::PipeDialect>();
}

void p3d::registerPasses() {}
