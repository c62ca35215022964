// The flags that trade time for memory or the other way round, and plans with them.
#include "compiler/Replan.h"
#include "compiler/ManifestParameters.h"
#include "compiler/Pipeline.h"
#include "compiler/StepSimulation.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Schedule/StageSchedule.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace p3d;

FailureOr<PlannedStep> p3d::planStep(ModuleOp imported, const Options &options) {
  // What is wrong with a model the compile itself says.
  ScopedDiagnosticHandler silence(imported.getContext(), [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module(imported.clone());
  PlannedStep step;
  for (const Level &level : levels().drop_front()) {
    PassManager passes(module->getContext());
    passes.enableVerifier(false); // as the compile itself verifies it
    level.build(passes, options);
    if (failed(passes.run(*module)))
      return failure();
    StringRef name = level.name;
    if (name == "schedule")
      step.seconds = timeStep(*module, *RankOrder::parse(options.rankOrder), options.cluster, options.costTable).timing.seconds;
    if (name == "memory")
      break;
  }
  step.memory = measureMemory(*module);
  return step;
}

size_t p3d::fullestStage(ArrayRef<StageMemory> memory) {
  return llvm::max_element(memory, [](auto &a, auto &b) { return a.total < b.total; }) - memory.begin();
}

Replanner::Replanner(ModuleOp imported, ModuleOp scheduled, const Options &options, Progress &progress)
    : imported(imported), options(options), progress(progress) {
  auto mesh = scheduled->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  auto add = [&](llvm::StringLiteral flag, StringRef value, auto make) {
    changes.push_back({flag, value.str(), make});
  };
  auto addZero = [&](int64_t stage) {
    if (mesh.getDp() > 1 && options.zero < stage)
      add("zero", std::to_string(stage), [](Options &options, StringRef value) { value.getAsInteger(10, options.zero); });
  };
  auto addRecompute = [&](StringRef choice) {
    if (llvm::find(kRecomputeChoices, choice) > llvm::find(kRecomputeChoices, options.recompute))
      add("recompute", choice, [](Options &options, StringRef value) { options.recompute = value; });
  };
  addZero(1);
  if (mesh.getTp() > 1 && options.sequenceParallel != "on")
    add("sequence-parallel", "on", [](Options &options, StringRef value) { options.sequenceParallel = value; });
  int64_t rows = findBatchSize(collectStages(scheduled)).rows / mesh.getDp();
  if (rows % (2 * mesh.getMb()) == 0)
    add("microbatches", std::to_string(2 * mesh.getMb()), [](Options &options, StringRef value) {
      int64_t count = 0;
      value.getAsInteger(10, count);
      options.microbatches = count;
    });
  if (mesh.getPp() > 1 && (options.schedule == "gpipe" || options.schedule == "1f1b"))
    add("schedule", "zb-h1", [](Options &options, StringRef value) { options.schedule = value; });
  addRecompute("selective");
  addZero(2);
  addRecompute("full");
  addZero(3);
}

std::optional<Alternative> Replanner::plan(ArrayRef<Change> made) {
  Options changed = options;
  Alternative found;
  for (const Change &change : made) {
    change.make(changed, change.value);
    found.flags += (found.flags.empty() ? "--" : " --") + change.flag.str() + "=" + change.value;
  }
  // not messages: what a terminal shows meanwhile
  progress.enter("planning with " + found.flags);

  // What is not possible is no alternative.
  FailureOr<PlannedStep> step = planStep(imported, changed);
  if (failed(step))
    return std::nullopt;
  found.bytes = step->memory[fullestStage(step->memory)].total;
  found.stepSeconds = step->seconds;
  // As a compile with these flags decides.
  if (options.deviceMemory <= 0 || found.bytes <= options.deviceMemory || changed.sequenceParallel != "auto" || options.mesh.tp == 1)
    return found;
  changed.sequenceParallel = "on";
  FailureOr<PlannedStep> cut = planStep(imported, changed);
  if (int64_t bytes = failed(cut) ? found.bytes : cut->memory[fullestStage(cut->memory)].total; bytes <= options.deviceMemory) {
    found.bytes = bytes;
    found.stepSeconds = cut->seconds;
  }
  return found;
}

const std::vector<Alternative> &Replanner::singles() {
  if (!known) {
    known.emplace();
    for (const Change &change : changes)
      if (std::optional<Alternative> found = plan(change))
        known->push_back(*found);
  }
  return *known;
}

std::optional<Alternative> Replanner::fitting(int64_t limit, int64_t bytes) {
  for (const Alternative &single : singles())
    if (single.bytes <= limit)
      return single;
  std::optional<Alternative> best;
  SmallVector<Change> chosen;
  for (const Change &change : changes) {
    SmallVector<Change> more = chosen;
    llvm::erase_if(more, [&](const Change &other) { return other.flag == change.flag; });
    more.push_back(change);
    std::optional<Alternative> found = plan(more);
    if (!found || found->bytes >= (best ? best->bytes : bytes))
      continue;
    best = found;
    chosen = more;
    if (best->bytes <= limit)
      break;
  }
  // An early change may be needless beside a later one.
  for (size_t i = 0; best && best->bytes <= limit && i < chosen.size();) {
    SmallVector<Change> fewer = chosen;
    fewer.erase(fewer.begin() + i);
    std::optional<Alternative> found = fewer.empty() ? std::nullopt : plan(fewer);
    if (found && found->bytes <= limit) {
      best = found;
      chosen = fewer;
    } else {
      ++i;
    }
  }
  return best;
}
