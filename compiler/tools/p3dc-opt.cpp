// p3dc-opt: runs single passes of p3dc on a file, as mlir-opt does.
#include "compiler/Registration.h"
#include "dialects/StableHLO/StableHLOText.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  p3d::registerDialects(registry);
  p3d::registerPasses();
  // not messages: what --help says
  auto [inputPath, outputPath] =
      mlir::registerAndParseCLIOptions(argc, argv, "p3dc optimizer driver\n", registry);

  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> input = p3d::stablehlo::openText(inputPath, &error);
  std::unique_ptr<llvm::ToolOutputFile> output;
  if (input)
    output = mlir::openOutputFile(outputPath, &error);
  if (!output) {
    llvm::errs() << "p3dc-opt: error: " << error << "\n";
    return 1;
  }
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (failed(mlir::MlirOptMain(output->os(), std::move(input), registry, config)))
    return 1;
  output->keep();
  return 0;
}
