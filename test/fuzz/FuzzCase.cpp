#include "FuzzCase.h"
#include "Generator.h"
#include "ProgramBuilder.h"
#include "compiler/ClusterOption.h"
#include "compiler/Options.h"
#include "compiler/Pipeline.h"
#include "compiler/ProgramTensors.h"
#include "compiler/Registration.h"
#include "compiler/SpmdInterpreter.h"
#include "compiler/Verification.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Import/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;
using graph::Tensor;
using graph::Tensors;

namespace {
/// Sums in another order are all that differs: of numbers below a hundred, in double precision.
constexpr double kTolerance = 1e-9;
/// A gradient is compared relative to its own norm, to this part of that of all, or to this number, whichever is most: some are zero in exact arithmetic.
constexpr double kSmallestShare = 1e-4, kSmallestNorm = 1e-4;

/// The name of the pass that failed.
struct FailedPass : PassInstrumentation {
  explicit FailedPass(std::string &name) : name(name) {}
  void runAfterPassFailed(Pass *pass, Operation *) override { name = pass->getArgument().str(); }
  std::string &name;
};

class Runner {
public:
  Runner(MLIRContext &context, ModuleOp module) : context(context), module(module) {}

  Verdict run(llvm::StringSet<> *seen);

private:
  static graph::ProgramOp programOf(ModuleOp module) { return *module.getOps<graph::ProgramOp>().begin(); }
  /// Nothing, or why the passes that `build` adds failed.
  std::optional<Verdict> runPasses(llvm::function_ref<void(OpPassManager &)> build);
  std::optional<Verdict> runLevel(StringRef name);
  std::optional<Verdict> compare(ArrayRef<Tensor> expected, ArrayRef<Tensor> found, StringRef when);

  MLIRContext &context;
  ModuleOp module;
  Options options;
};
} // namespace

llvm::StringRef p3d::fuzz::nameOf(Outcome outcome) {
  switch (outcome) {
  case Outcome::Match:
    return "match";
  case Outcome::Rejected:
    return "rejected";
  case Outcome::Mismatch:
    return "mismatch";
  case Outcome::Broken:
    return "broken";
  }
  llvm_unreachable("an outcome");
}

std::optional<Verdict> Runner::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  std::string failed, message;
  bool hasPlace = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error || !message.empty())
      return;
    message = diagnostic.str();
    hasPlace = !isa<UnknownLoc>(diagnostic.getLocation());
  });
  PassManager passes(&context);
  passes.addInstrumentation(std::make_unique<FailedPass>(failed));
  build(passes);
  if (succeeded(passes.run(module)))
    return std::nullopt;
  bool isSound = succeeded(verify(module)), isOurs = StringRef(failed).starts_with("p3d-verify-");
  if (message.empty() || !hasPlace || !isSound || isOurs)
    return Verdict{Outcome::Broken, failed + (hasPlace || message.empty() ? ": " : ", without a location: ") + message};
  return Verdict{Outcome::Rejected, message};
}

std::optional<Verdict> Runner::runLevel(StringRef name) {
  return runPasses([&](OpPassManager &passes) {
    for (const Level &level : levels())
      if (name == level.name)
        level.build(passes, options);
  });
}

std::optional<Verdict> Runner::compare(ArrayRef<Tensor> expected, ArrayRef<Tensor> found, StringRef when) {
  auto nameOfResult = [&](size_t i) {
    auto name = programOf(module).getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
    return name ? name.str() : "result " + std::to_string(i);
  };
  double squares = 0;
  for (auto [i, tensor] : llvm::enumerate(expected))
    for (double element : tensor.floats)
      squares += StringRef(nameOfResult(i)).starts_with("grads.") ? element * element : 0;
  for (auto [i, right, is] : llvm::enumerate(expected, found)) {
    double floor = std::max(kSmallestNorm, kSmallestShare * std::sqrt(squares)), error = relativeError(is, right, floor);
    if (!(error <= kTolerance))
      return Verdict{Outcome::Mismatch, llvm::formatv("{0} {1}: relative error {2:e1}", nameOfResult(i), when, error)};
  }
  return std::nullopt;
}

Verdict Runner::run(llvm::StringSet<> *seen) {
  auto sizes = module->getAttrOfType<DenseI64ArrayAttr>(kMeshAttr);
  auto sequence = module->getAttrOfType<StringAttr>(kSequenceAttr);
  if (!sizes || sizes.size() != 3 || module.getOps<graph::ProgramOp>().empty())
    return {Outcome::Broken, "the module has no program, or no fuzz.mesh of tp, dp and microbatches"};
  options.mesh = {sizes[0], 1, sizes[1]};
  options.microbatches = sizes[2];
  options.sequenceParallel = sequence ? sequence.str() : "auto";
  options.optimizer = "adamw";
  options.cluster = llvm::cantFail(readCluster(defaultCluster(/*forCuda=*/false), options.mesh));
  Tensors inputs = inputsOf(programOf(module));
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  FailureOr<Tensors> results = graph::interpret(programOf(module), inputs);
  if (failed(results))
    return {Outcome::Broken, "the program cannot be interpreted: " + message};
  // The end of the level import; what comes before it reads another dialect.
  auto bad = runPasses([](OpPassManager &passes) {
    passes.addPass(createOutlineLayers());
    passes.addPass(createChooseInitialization());
    passes.addPass(createBoundIndices());
    passes.addPass(createVerifyImport());
  });
  bad = bad ? bad : runLevel("autodiff");
  if (bad)
    return *bad;
  // In f16 autodiff adds the factor on the loss.
  for (Type type : programOf(module).getArgumentTypes().drop_front(inputs.size()))
    inputs.emplace_back(cast<RankedTensorType>(type)).floats.assign(1, 4);
  // Parameters that are only used in a narrower type are stored in it; here all floats are doubles.
  for (auto [input, type] : llvm::zip(inputs, programOf(module).getArgumentTypes()))
    input.elementType = cast<RankedTensorType>(type).getElementType();
  FailureOr<Tensors> step = graph::interpret(programOf(module), inputs);
  if (failed(step))
    return {Outcome::Broken, "the training step cannot be interpreted: " + message};
  bad = compare(*results, ArrayRef(*step).take_front(results->size()), "of the training step");
  bad = bad ? bad : runLevel("shard");
  bad = bad ? bad : runLevel("partition");
  if (bad)
    return *bad;
  FailureOr<Tensors> found = interpretSpmd(module, inputs);
  if (failed(found))
    return {Outcome::Mismatch, message};
  if (bad = compare(*step, *found, "on all ranks"); bad)
    return *bad;
  if (seen)
    module.walk([&](Operation *op) { seen->insert(op->getName().getStringRef()); });
  return {Outcome::Match, ""};
}

std::unique_ptr<MLIRContext> p3d::fuzz::makeContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->allowUnregisteredDialects();
  return context;
}

Verdict p3d::fuzz::runCase(MLIRContext &context, StringRef text, StringRef name, llvm::StringSet<> *seen) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, name), llvm::SMLoc());
  std::string message;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
    module = parseSourceFile<ModuleOp>(sources, &context);
  }
  if (!module)
    return {Outcome::Broken, "does not parse: " + message};
  return Runner(context, *module).run(seen);
}
