// The choices are few and a plan of the memory takes less than a second, so each is planned.
#include "compiler/RecomputeSearch.h"
#include "compiler/Replan.h"
#include "passes/Support/Units.h"

using namespace mlir;
using namespace p3d;

namespace {
/// What one choice takes at the stage that takes most.
struct Choice {
  StringRef recompute, sequenceParallel;
  int64_t stage, bytes;
};

/// The choices that can be compiled, those to be preferred first; if `stopsAtFit` no more than are needed to find one that
/// fits.
SmallVector<Choice> planChoices(ModuleOp imported, const Options &options, bool stopsAtFit) {
  SmallVector<StringRef> recomputes{options.recompute}, sequences{options.sequenceParallel};
  if (options.recompute == "auto")
    recomputes.assign(std::begin(kRecomputeChoices), std::end(kRecomputeChoices));
  if (options.sequenceParallel == "auto" && options.mesh.tp > 1)
    sequences = {"auto", "on"};
  SmallVector<Choice> choices;
  for (StringRef recompute : recomputes)
    for (StringRef sequence : sequences) {
      Options tried = options;
      tried.recompute = recompute.str();
      tried.sequenceParallel = sequence.str();
      FailureOr<PlannedStep> plan = planStep(imported, tried);
      if (failed(plan))
        continue;
      int64_t fullest = fullestStage(plan->memory);
      choices.push_back({recompute, sequence, fullest, plan->memory[fullest].total});
      if (stopsAtFit && choices.back().bytes <= options.cluster.memoryBytes)
        return choices;
    }
  return choices;
}

std::string listChoices(ArrayRef<Choice> choices) {
  std::string list;
  llvm::raw_string_ostream stream(list);
  llvm::interleaveComma(choices, stream, [&](const Choice &choice) {
    stream << choice.recompute << (choice.sequenceParallel == "on" ? " with --sequence-parallel=on " : " ") << bytesText(choice.bytes) << " (" << choice.bytes
           << " bytes, stage " << choice.stage << ')';
  });
  return list;
}
} // namespace

LogicalResult p3d::chooseToFit(ModuleOp imported, Options &options) {
  bool isOpen = options.recompute == "auto";
  // Without a limit every plan fits.
  if (!isOpen && (options.deviceMemory <= 0 || options.sequenceParallel != "auto" || options.mesh.tp == 1))
    return success();
  // The choices refer to its strings.
  const Options asked = options;
  SmallVector<Choice> choices = planChoices(imported, asked, /*stopsAtFit=*/!isOpen);
  double limit = options.cluster.memoryBytes;
  const Choice *fits = llvm::find_if(choices, [&](const Choice &choice) { return choice.bytes <= limit; });
  if (isOpen && fits == choices.end() && !choices.empty())
    return imported.emitError() << "no value of --recompute fits the " << bytesText(limit) << " of a device: " << listChoices(choices)
                                << "; use a larger mesh, a higher --zero, or devices with more memory";
  // What cannot be compiled, or does not fit, whatever is chosen is refused where the reason is.
  if (fits == choices.end()) {
    options.recompute = isOpen ? kRecomputeChoices[0].str() : options.recompute;
    return success();
  }
  options.recompute = fits->recompute.str();
  options.sequenceParallel = fits->sequenceParallel.str();
  if (isOpen || asked.sequenceParallel != options.sequenceParallel)
    imported.emitRemark() << "--recompute=" << options.recompute << (fits->sequenceParallel == "on" ? " with --sequence-parallel=on" : "")
                          << " is the least that fits the " << bytesText(limit) << " of a device: " << listChoices(choices);
  return success();
}
