#include "compiler/Timeline.h"
#include "passes/Schedule/StageSchedule.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d;

namespace {
struct KindRow {
  llvm::StringLiteral letter, ofSplit, ofWhole;
};
/// By the number of the kind; what the backward is depends on whether W follows.
constexpr KindRow kKinds[] = {{"F", "forward", "forward"},
                              {"B", "gradient of inputs", "backward"},
                              {"W", "gradient of weights", ""},
                              {"S", "synchronisation of gradients", "synchronisation of gradients"},
                              {"U", "update", "update"}};

/// Where an action stands in the order of each stage.
std::vector<int64_t> indexActions(const StageOrder &order, int64_t microbatches, int64_t chunks) {
  std::vector<int64_t> indices(3 * microbatches * chunks);
  for (auto [index, action] : llvm::enumerate(order))
    indices[(action.kind * chunks + action.chunk) * microbatches + action.microbatch] = index;
  return indices;
}

std::vector<TimelineTransfer> collectArrows(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers,
                                            const ScheduleTiming &timing, double communication) {
  int64_t microbatches = countMicrobatches(schedule), chunks = countChunks(schedule);
  std::vector<std::vector<int64_t>> indices;
  for (const StageOrder &order : schedule)
    indices.push_back(indexActions(order, microbatches, chunks));
  std::vector<TimelineTransfer> arrows;
  for (const Transfer &transfer : transfers)
    for (int64_t mb = 0; mb < microbatches && transfer.from != transfer.to; ++mb) {
      auto indexOf = [&](int64_t stage, int64_t chunk) {
        return indices[stage][(transfer.kind * chunks + chunk) * microbatches + mb];
      };
      int64_t fromBox = indexOf(transfer.from, transfer.fromChunk), toBox = indexOf(transfer.to, transfer.toChunk);
      double start = timing.spans[transfer.from][fromBox].end;
      arrows.push_back({transfer.from, fromBox, transfer.to, toBox, start, start + communication});
    }
  return arrows;
}
} // namespace

llvm::StringRef p3d::letterOf(BoxKind kind) { return kKinds[int(kind)].letter; }

llvm::StringRef p3d::describe(BoxKind kind, bool splitsBackward) {
  const KindRow &row = kKinds[int(kind)];
  return splitsBackward ? row.ofSplit : row.ofWhole;
}

Timeline p3d::makeTimeline(mlir::ModuleOp scheduled, const ManifestInputs &inputs) {
  Cube cube = makeCube(scheduled, inputs.rankOrder, inputs.cluster);
  StepCosts costs = stageCosts(scheduled, inputs.rankOrder, inputs.cluster);
  StepTiming timing = timeStep(scheduled, costs, {cube.mesh, inputs.rankOrder}, inputs.cluster, inputs.costTable);
  Timeline timeline{inputs.model, inputs.schedule};
  Schedule orders;
  for (pipe::StageOp stage : collectStages(scheduled))
    orders.push_back(readOrder(stage));
  timeline.microbatches = countMicrobatches(orders);
  timeline.splitsBackward = splitsBackward(orders);
  timeline.timing = std::move(timing.schedule);
  timeline.transfers = collectArrows(orders, collectTransfers(scheduled), timeline.timing,
                                     inputs.costTable ? inputs.costTable->communication : costs.transfer);
  for (auto [index, order] : llvm::enumerate(orders)) {
    TimelineStage &stage = timeline.stages.emplace_back(TimelineStage{cube.layers[index], cube.ranksText(index), {}});
    for (auto [action, span] : llvm::zip(order, timeline.timing.spans[index]))
      stage.boxes.push_back(
          {BoxKind(action.kind), toString(action), span.start, span.end, action.microbatch, action.chunk});
    for (auto [kind, spans] :
         {std::pair(BoxKind::Synchronize, &timing.synchronizes), {BoxKind::Update, &timing.updates}})
      if (ActionSpan span = (*spans)[index]; span.end > span.start)
        stage.boxes.push_back({kind, letterOf(kind).str(), span.start, span.end});
    timeline.end = std::max(timeline.end, stage.boxes.empty() ? 0.0 : stage.boxes.back().end);
  }
  timeline.cube = std::move(cube);
  return timeline;
}
