// Earliest starts, found by running the stages' orders until all are done.
#include "passes/Schedule/ScheduleTiming.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace llvm;
using namespace p3d;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Timer {
public:
  Timer(const Schedule &schedule, ArrayRef<Transfer> transfers, const ScheduleCosts &costs)
      : schedule(schedule), costs(costs), split(splitsBackward(schedule)), chunks(countChunks(schedule)),
        microbatches(countMicrobatches(schedule)), incoming(schedule.size() * 3 * chunks),
        ends(incoming.size() * microbatches, kInfinity), spans(schedule.size()) {
    for (const Transfer &transfer : transfers)
      incoming[taskOf(transfer.to, transfer.kind, transfer.toChunk)].push_back(&transfer);
  }

  std::vector<std::vector<ActionSpan>> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < schedule.size(); ++stage)
        while (spans[stage].size() < schedule[stage].size() && place(stage))
          moved = true;
    }
    return std::move(spans);
  }

private:
  size_t taskOf(int64_t stage, Action::Kind kind, int64_t chunk) const { return (stage * 3 + kind) * chunks + chunk; }

  /// Places the stage's next action if its producers are placed.
  bool place(int64_t stage) {
    Action action = schedule[stage][spans[stage].size()];
    size_t task = taskOf(stage, action.kind, action.chunk);
    double start = spans[stage].empty() ? 0 : spans[stage].back().end;
    for (const Transfer *transfer : incoming[task]) {
      double end = ends[taskOf(transfer->from, action.kind, transfer->fromChunk) * microbatches + action.microbatch];
      start = std::max(start, end + (transfer->from == stage ? 0 : costs.communication));
    }
    if (start == kInfinity)
      return false;
    double end = start + durationOf(action, costs.tasks[stage][action.chunk], split);
    spans[stage].push_back({start, end});
    ends[task * microbatches + action.microbatch] = end;
    return true;
  }

  const Schedule &schedule;
  const ScheduleCosts &costs;
  bool split;
  int64_t chunks, microbatches;
  std::vector<SmallVector<const Transfer *, 1>> incoming; ///< of each task
  std::vector<double> ends;                               ///< of each task and microbatch
  std::vector<std::vector<ActionSpan>> spans;
};
} // namespace

double p3d::durationOf(Action action, const TaskCosts &cost, bool split) {
  switch (action.kind) {
  case Action::Forward:
    return cost.forward;
  case Action::Backward:
    return cost.backward + (split ? 0 : cost.weightGradient);
  case Action::WeightGradient:
    return cost.weightGradient;
  }
  llvm_unreachable("a kind of action");
}

ScheduleCosts ScheduleCosts::uniform(int64_t stages, TaskCosts stage, double communication, int64_t chunks) {
  TaskCosts part{stage.forward / chunks, stage.backward / chunks, stage.weightGradient / chunks};
  return {std::vector(stages, std::vector(chunks, part)), communication};
}

ScheduleTiming p3d::timeSchedule(const Schedule &schedule, ArrayRef<Transfer> transfers, const ScheduleCosts &costs) {
  auto spans = Timer(schedule, transfers, costs).run();
  for (auto [order, placed] : zip(schedule, spans))
    if (placed.size() < order.size())
      return {std::move(spans), kInfinity, kInfinity};
  return summarize(std::move(spans));
}

ScheduleTiming p3d::summarize(std::vector<std::vector<ActionSpan>> spans) {
  ScheduleTiming timing;
  timing.spans = std::move(spans);
  double first = kInfinity, last = 0, busyOfAll = 0, busyOfLongest = 0;
  for (const auto &spans : timing.spans) {
    if (spans.empty())
      continue;
    double busy = 0;
    for (ActionSpan span : spans)
      busy += span.end - span.start;
    busyOfAll += busy;
    first = std::min(first, spans.front().start);
    last = std::max(last, spans.back().end);
    double span = spans.back().end - spans.front().start;
    if (span > timing.stageSpan)
      busyOfLongest = busy;
    timing.stageSpan = std::max(timing.stageSpan, span);
  }
  timing.makespan = timing.stageSpan > 0 ? last - first : 0;
  if (timing.makespan > 0) {
    timing.bubble = 1 - busyOfAll / timing.spans.size() / timing.makespan;
    timing.bubbleSpan = 1 - busyOfLongest / timing.stageSpan;
  }
  return timing;
}
