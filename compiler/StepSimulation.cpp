// Events are the ends of tasks and the arrivals of values; between two of them every stage works at a constant speed.
#include "compiler/StepSimulation.h"
#include "passes/Schedule/StageSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace p3d;

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();

/// The speed of a stage when some of them work: that of its busiest node, whose cores its working ranks share.
class Speeds {
public:
  Speeds(const RankOrder &order, const Cluster &cluster) : cores(cluster.cores) {
    if (cores > 0)
      for (int64_t rank = 0; rank < order.getMesh().ranks(); ++rank)
        ++ranks[cluster.nodeOf(rank)][order.coordinatesOf(rank).pp];
  }

  double of(int64_t stage, llvm::ArrayRef<char> works) const {
    double slowest = 1;
    for (auto &[node, counts] : ranks) {
      if (!counts.count(stage))
        continue;
      int64_t busy = 0;
      for (auto &[other, count] : counts)
        busy += works[other] ? count : 0;
      slowest = std::min(slowest, double(cores) / busy);
    }
    return slowest;
  }

private:
  int64_t cores;
  std::map<int64_t, std::map<int64_t, int64_t>> ranks; ///< by node, of each stage
};

class Simulation {
public:
  Simulation(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers, const StepCosts &costs, Speeds speeds)
      : schedule(schedule), transfers(transfers), costs(costs), speeds(std::move(speeds)),
        split(splitsBackward(schedule)), stages(schedule.size()) {}

  StepTiming run();

private:
  /// The tasks of a stage are its prologue, its actions, its synchronization and, after all stages, its update.
  struct Stage {
    size_t next = 0;
    bool isRunning = false;
    double left = 0;
    std::vector<ActionSpan> spans;
  };

  size_t taskCount(int64_t stage) const { return schedule[stage].size() + 3; }
  const Action *actionOf(int64_t stage, size_t task) const {
    return task >= 1 && task <= schedule[stage].size() ? &schedule[stage][task - 1] : nullptr;
  }
  /// When a task may begin as far as other stages are concerned; never, if that is not yet known.
  double readyTime(int64_t stage) const;
  double workOf(int64_t stage) const;
  void finish(int64_t stage);
  StepTiming summarizeStep();

  const Schedule &schedule;
  llvm::ArrayRef<Transfer> transfers;
  const StepCosts &costs;
  Speeds speeds;
  bool split;
  std::vector<Stage> stages;
  std::map<std::tuple<int64_t, int, int64_t, int64_t>, double> ends;
  double now = 0;
};

double Simulation::readyTime(int64_t stage) const {
  const Stage &at = stages[stage];
  if (const Action *action = actionOf(stage, at.next)) {
    double ready = 0;
    for (const Transfer &transfer : transfers) {
      if (transfer.to != stage || transfer.kind != action->kind || transfer.toChunk != action->chunk)
        continue;
      auto producer = ends.find({transfer.from, action->kind, transfer.fromChunk, action->microbatch});
      if (producer == ends.end())
        return kNever;
      ready = std::max(ready, producer->second + (transfer.from == stage ? 0 : costs.transfer));
    }
    return ready;
  }
  if (at.next + 1 < taskCount(stage))
    return 0;
  // The update waits for the synchronization of all, and for the norm.
  double ready = 0;
  for (auto [index, other] : llvm::enumerate(stages)) {
    if (other.next + 1 < taskCount(index))
      return kNever;
    ready = std::max(ready, other.spans[taskCount(index) - 2].end);
  }
  return ready + costs.norm;
}

double Simulation::workOf(int64_t stage) const {
  const StageCost &cost = costs.stages[stage];
  size_t task = stages[stage].next;
  if (const Action *action = actionOf(stage, task))
    return durationOf(*action, cost.chunks[action->chunk], split);
  return task == 0 ? cost.prologue : task + 2 == taskCount(stage) ? cost.synchronize : cost.update;
}

void Simulation::finish(int64_t stage) {
  Stage &at = stages[stage];
  at.isRunning = false;
  at.spans.back().end = now;
  if (const Action *action = actionOf(stage, at.next))
    ends[{stage, action->kind, action->chunk, action->microbatch}] = now;
  ++at.next;
}

StepTiming Simulation::run() {
  std::vector<char> works(stages.size());
  while (true) {
    // Begin what can begin, and finish what is no work, until nothing changes.
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t s = 0; s < stages.size(); ++s) {
        Stage &stage = stages[s];
        if (!stage.isRunning && stage.next < taskCount(s) && readyTime(s) <= now) {
          stage.spans.push_back({now, now});
          stage.left = workOf(s);
          stage.isRunning = moved = true;
        }
        if (stage.isRunning && stage.left <= 0) {
          finish(s);
          moved = true;
        }
      }
    }
    for (size_t s = 0; s < stages.size(); ++s)
      works[s] = stages[s].isRunning;
    double nextTime = kNever;
    for (size_t s = 0; s < stages.size(); ++s) {
      if (works[s])
        nextTime = std::min(nextTime, now + stages[s].left / speeds.of(s, works));
      else if (stages[s].next < taskCount(s))
        nextTime = std::min(nextTime, readyTime(s));
    }
    if (nextTime == kNever)
      return summarizeStep();
    for (size_t s = 0; s < stages.size(); ++s)
      if (works[s]) {
        double speed = speeds.of(s, works);
        // What ends now has nothing left, whatever rounding says.
        stages[s].left = now + stages[s].left / speed <= nextTime ? 0 : stages[s].left - (nextTime - now) * speed;
      }
    now = nextTime;
  }
}

StepTiming Simulation::summarizeStep() {
  StepTiming timing;
  std::vector<std::vector<ActionSpan>> actions;
  for (const Stage &stage : stages) {
    llvm::ArrayRef<ActionSpan> spans(stage.spans);
    actions.push_back(spans.drop_front().drop_back(2).vec());
    timing.seconds = std::max(timing.seconds, spans.back().end);
    timing.synchronizes.push_back(spans[spans.size() - 2]);
    timing.updates.push_back(spans.back());
    timing.update = std::max(timing.update, spans.back().end - spans.back().start);
  }
  timing.schedule = summarize(std::move(actions));
  return timing;
}
} // namespace

StepTiming p3d::simulateStep(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers, const StepCosts &costs,
                             const RankOrder &order, const Cluster &cluster) {
  return Simulation(schedule, transfers, costs, {order, cluster}).run();
}

/// With measured times nothing is shared; what they do not say of is as the model has it.
static StepTiming timeMeasured(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers, const StepCosts &costs,
                               const CostTable &measured) {
  StepTiming timing;
  timing.schedule = timeSchedule(schedule, transfers, measured.costsOf(schedule.size(), countChunks(schedule)));
  double synchronized = 0;
  for (auto [spans, stage] : llvm::zip(timing.schedule.spans, costs.stages)) {
    double end = spans.empty() ? 0 : spans.back().end;
    timing.synchronizes.push_back({end, end + stage.synchronize});
    synchronized = std::max(synchronized, end + stage.synchronize);
  }
  for (const StageCost &stage : costs.stages) {
    timing.updates.push_back({synchronized + costs.norm, synchronized + costs.norm + stage.update});
    timing.update = std::max(timing.update, stage.update);
    timing.seconds = std::max(timing.seconds, timing.updates.back().end);
  }
  return timing;
}

StepTiming p3d::timeStep(mlir::ModuleOp scheduled, const StepCosts &costs, const RankOrder &order,
                         const Cluster &cluster, const std::optional<CostTable> &measured) {
  Schedule schedule;
  for (pipe::StageOp stage : collectStages(scheduled))
    schedule.push_back(readOrder(stage));
  std::vector<Transfer> transfers = collectTransfers(scheduled);
  return measured ? timeMeasured(schedule, transfers, costs, *measured)
                  : simulateStep(schedule, transfers, costs, order, cluster);
}

TimedStep p3d::timeStep(mlir::ModuleOp scheduled, RankOrder::Kind rankOrder, const Cluster &cluster,
                        const std::optional<CostTable> &measured) {
  auto mesh = scheduled->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  RankOrder order({mesh.getTp(), mesh.getPp(), mesh.getDp()}, rankOrder);
  TimedStep step{stageCosts(scheduled, rankOrder, cluster), {}};
  step.timing = timeStep(scheduled, step.costs, order, cluster, measured);
  return step;
}
