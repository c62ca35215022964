// The choices are few and a plan of the memory takes less than a second, so each is planned.
#include "compiler/RecomputeSearch.h"
#include "compiler/Replan.h"
#include "passes/Support/Units.h"

using namespace mlir;
using namespace p3d;

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
    FailureOr<PlannedStep> plan = planStep(imported, options);
    if (failed(plan))
      continue;
    int64_t fullest = fullestStage(plan->memory);
    choices.push_back({recompute, fullest, plan->memory[fullest].total});
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
