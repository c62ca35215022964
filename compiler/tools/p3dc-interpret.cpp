// p3dc-interpret: evaluates a graph program in double precision on tensors of safetensors files.
#include "compiler/ProgramTensors.h"
#include "dialects/StableHLO/StableHLO.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace p3d;

namespace {
// not messages: what --help says
cl::OptionCategory category("p3dc-interpret options");
cl::opt<std::string> programFile(cl::Positional, cl::Required, cl::desc("PROGRAM.mlir"), cl::cat(category));
cl::list<std::string> inputFiles("inputs", cl::CommaSeparated, cl::desc("safetensors files with the program's arguments"), cl::value_desc("files"), cl::cat(category));
cl::opt<std::string> outputFile("o", cl::desc("safetensors file for the results, floats as F64"), cl::value_desc("file"), cl::cat(category));
cl::opt<bool> roundToType("round", cl::desc("round each result to its element type"), cl::cat(category));

ExitOnError exitOnError("p3dc-interpret: error: ");

/// Scalars in full precision.
void printScalars(const NamedTensors &results) {
  for (const auto &[name, tensor] : results)
    if (tensor.shape.empty() && tensor.isFloat())
      outs() << name << " = " << format("%.17g", tensor.floats[0]) << "\n";
}
} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  // not messages: what --help says
  cl::ParseCommandLineOptions(argc, argv, "evaluates a graph program in double precision\n");

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<graph::GraphDialect, sdy::SdyDialect>();
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(programFile, sources, mlir::ParserConfig(&context));
  if (!module)
    return 1;
  auto programs = module->getOps<graph::ProgramOp>();
  if (programs.empty()) {
    WithColor::error(errs(), "p3dc-interpret") << programFile << ": holds no graph.program\n";
    return 1;
  }
  graph::ProgramOp program = *programs.begin();
  graph::InterpretOptions options;
  options.roundToType = roundToType;
  auto results = graph::interpret(program, exitOnError(argumentsFrom(program, inputFiles)), options);
  if (mlir::failed(results))
    return 1;
  NamedTensors named = namedResults(program, *results);
  printScalars(named);
  if (!outputFile.empty())
    exitOnError(writeTensorFile(outputFile, named));
  return 0;
}
