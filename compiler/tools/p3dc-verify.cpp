// p3dc-verify: the judge of `p3d-run DIR --verify`. Interprets the training step that p3dc left in DIR on the files of a run and compares its results.
#include "compiler/Reference.h"
#include "compiler/Verification.h"
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
cl::opt<std::string> directory(cl::Positional, cl::Required, cl::desc("DIR"));
cl::list<std::string> inputFiles("inputs", cl::CommaSeparated, cl::desc("safetensors files with the program's arguments"));
cl::opt<std::string> gradientFile("gradients", cl::Required, cl::desc("safetensors file with the gradients of the run"));
cl::opt<std::string> valueFile("values", cl::desc("safetensors file with what the forward pass of the run kept"));
cl::list<std::string> scalars("scalar", cl::desc("a scalar result of the run: NAME=VALUE"));

constexpr int kDiffers = 2;
ExitOnError exitOnError("p3dc-verify: error: ");

struct Step {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  graph::ProgramOp program;
};

Step readStep(mlir::MLIRContext &context, StringRef file) {
  std::string path = (directory + "/" + file).str();
  Step step{mlir::parseSourceFile<mlir::ModuleOp>(path, mlir::ParserConfig(&context)), {}};
  if (step.module)
    for (auto program : step.module->getOps<graph::ProgramOp>())
      step.program = program;
  if (!step.program) {
    WithColor::error(errs(), "p3dc-verify") << path << ": holds no training step; compile the model again, from its source\n";
    exit(1);
  }
  return step;
}

/// What the run computed: scalars from the command line, gradients from the file.
NamedTensors readFound(mlir::MLIRContext &context) {
  mlir::Type type = mlir::Float64Type::get(&context);
  NamedTensors found;
  for (const std::string &text : scalars) {
    auto [name, value] = StringRef(text).rsplit('=');
    graph::Tensor tensor(ArrayRef<int64_t>(), type);
    if (value.getAsDouble(tensor.floats[0], /*AllowInexact=*/true))
      exitOnError(createStringError(inconvertibleErrorCode(), "--scalar=%s: expected NAME=VALUE", text.c_str()));
    found.emplace_back(name.str(), std::move(tensor));
  }
  TensorFile gradients = exitOnError(TensorFile::open(gradientFile));
  for (const std::string &name : gradients.names())
    found.emplace_back(name, exitOnError(gradients.read(name, type)));
  return found;
}

/// Scalars, the gradients together, and the worst ones.
bool print(ArrayRef<Difference> differences) {
  constexpr unsigned kShown = 5;
  unsigned tensors = 0, wrong = 0;
  for (const Difference &difference : differences) {
    bool isTensor = StringRef(difference.what).starts_with("grads.");
    wrong += !difference.isFine();
    if (!isTensor || tensors++ < kShown)
      outs() << format("  %-40s relative error %.1e, limit %.0e%s\n", difference.what.c_str(), difference.error, difference.limit,
                       difference.isFine() ? "" : "  WRONG");
  }
  if (tensors > kShown)
    outs() << format("  and %u gradients with smaller errors\n", tensors - kShown);
  return wrong == 0;
}

void printFirstDifference(mlir::MLIRContext &context, const NamedTensors &found, const Tolerances &tolerances) {
  Step sharded = readStep(context, kShardedFile);
  TensorFile values = exitOnError(TensorFile::open(valueFile));
  std::string first = exitOnError(findFirstDifference(sharded.program, exitOnError(argumentsFrom(sharded.program, inputFiles)), values, found, tolerances));
  outs() << "first that differs: " << (first.empty() ? "nothing inside the step as it was sharded; the sharding level changed its meaning" : first) << "\n";
}
} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  // not messages: what --help says
  cl::ParseCommandLineOptions(argc, argv, "compares a run with the double-precision interpretation of its training step\n");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<graph::GraphDialect, sdy::SdyDialect>();
  Step step = readStep(context, kStepFile);
  auto results = graph::interpret(step.program, exitOnError(argumentsFrom(step.program, inputFiles)));
  if (mlir::failed(results))
    return 1;
  NamedTensors found = readFound(context);
  Tolerances tolerances = tolerancesOf(step.program);
  if (print(compareResults(namedResults(step.program, *results), found, tolerances)))
    return 0;
  if (!valueFile.empty())
    printFirstDifference(context, found, tolerances);
  return kDiffers;
}
