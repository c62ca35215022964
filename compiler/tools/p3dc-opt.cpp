// p3dc-opt: runs single passes of p3dc on a file, as mlir-opt does.
#include "compiler/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  p3d::registerDialects(registry);
  p3d::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "p3dc optimizer driver\n", registry));
}
