// The choices are few and a plan of the memory takes less than a second, so each is planned.
#include "compiler/RecomputeSearch.h"
#include "compiler/Pipeline.h"
#include "compiler/WritePrograms.h"
#include "passes/Support/Units.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace p3d;

FailureOr<std::vector<StageMemory>> p3d::planMemory(ModuleOp imported, const Options &options) {
  OwningOpRef<ModuleOp> module = imported.clone();
  // What is wrong with a model the compile itself says.
  ScopedDiagnosticHandler silence(module->getContext(), [](Diagnostic &) { return success(); });
  PassManager passes(module->getContext());
  for (const Level &level : levels().drop_front()) {
    level.build(passes, options);
    if (StringRef(level.name) == "memory")
      break;
  }
  if (failed(passes.run(*module)))
    return failure();
  return measureMemory(*module);
}

namespace {
/// What one choice takes at the stage that takes most.
struct Choice {
  StringRef recompute;
  int64_t stage, bytes;
};

SmallVector<Choice> planChoices(ModuleOp imported, Options options) {
  SmallVector<Choice> choices;
  for (StringRef recompute : kRecomputeChoices) {
    options.recompute = recompute.str();
    FailureOr<std::vector<StageMemory>> memory = planMemory(imported, options);
    if (failed(memory))
      continue;
    auto most = llvm::max_element(*memory, [](const StageMemory &a, const StageMemory &b) { return a.total < b.total; });
    choices.push_back({recompute, most - memory->begin(), most->total});
  }
  return choices;
}
} // namespace

FailureOr<std::string> p3d::chooseRecompute(ModuleOp imported, const Options &options) {
  SmallVector<Choice> choices = planChoices(imported, options);
  std::string list;
  llvm::raw_string_ostream stream(list);
  llvm::interleaveComma(choices, stream, [&](const Choice &choice) {
    stream << choice.recompute << ' ' << bytesText(choice.bytes) << " (" << choice.bytes << " bytes, stage " << choice.stage << ')';
  });
  double limit = options.cluster.memoryBytes;
  const Choice *fits = llvm::find_if(choices, [&](const Choice &choice) { return choice.bytes <= limit; });
  if (fits == choices.end() && !choices.empty())
    return imported.emitError() << "no value of --recompute fits the " << bytesText(limit) << " of a device: " << list
                                << "; use a larger mesh, a higher --zero, or devices with more memory";
  // What cannot be compiled whatever is computed again fails where the reason is.
  if (choices.empty())
    return kRecomputeChoices[0].str();
  imported.emitRemark() << "--recompute=" << fits->recompute << " is the least that fits the " << bytesText(limit) << " of a device: " << list;
  return fits->recompute.str();
}
