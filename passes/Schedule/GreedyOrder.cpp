// An order made by a simulation in which each stage that is free decides what it begins. As a W is no longer than what
// another stage would have to do before it sends something unforeseen, a gap is mostly known when it opens.
#include "passes/Schedule/OrderSearch.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace p3d;

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Whether `a` is not after `b`, where sums of the same times were added in another order.
bool isBy(double a, double b) { return a <= b + 1e-9 * std::abs(b); }

class GreedyOrder {
public:
  GreedyOrder(const OrderProblem &problem, GreedySettings settings)
      : problem(problem), settings(settings), stages(problem.countStages()) {
    for (Stage &stage : stages)
      stage.arrivals[Action::Forward].assign(problem.microbatches, kNever),
          stage.arrivals[Action::Backward] = stage.arrivals[Action::Forward];
    std::fill_n(stages.front().arrivals[Action::Forward].begin(), problem.microbatches, 0);
    setLeads();
  }

  Schedule run() {
    for (int64_t left = 3 * problem.microbatches * int64_t(stages.size()); left > 0;) {
      // Of those that decide at one time the last: what it does is what the others wait for.
      auto next = std::min_element(stages.rbegin(), stages.rend(),
                                   [](const Stage &a, const Stage &b) { return a.decides < b.decides; });
      if (next->decides == kNever)
        return {};
      left -= decide(stages.rend() - next - 1);
    }
    Schedule schedule;
    for (Stage &stage : stages)
      schedule.push_back(std::move(stage.order));
    return schedule;
  }

private:
  struct Stage {
    StageOrder order;
    double lead = 0;                 ///< forwards that it may be ahead of its backwards
    std::vector<double> arrivals[2]; ///< when what F and B of a microbatch need is there
    int64_t counts[3] = {};
    double decides = 0, end = 0, idle = 0; ///< when it decides next, when its last action ends, how long it idled
  };

  void setLeads() {
    double away = 0, slowest = 0;
    for (int64_t i = 0; i < problem.countStages(); ++i)
      slowest = std::max(slowest, problem.costsOf(i).forward + problem.costsOf(i).backward);
    for (int64_t i = problem.countStages() - 1; i >= 0; --i) {
      stages[i].lead =
          std::min<double>(problem.live, std::floor(1.5 + settings.lead * (slowest > 0 ? away / slowest : 0)));
      away += problem.costsOf(i).forward + problem.costsOf(i).backward + 2 * problem.costs.communication;
    }
  }

  double ready(int64_t index, Action::Kind kind) const {
    const Stage &stage = stages[index];
    int64_t mb = stage.counts[kind];
    bool isPossible = kind == Action::Forward
                          ? mb < problem.microbatches && mb - stage.counts[Action::WeightGradient] < problem.live
                          : mb < stage.counts[Action::Forward];
    return isPossible && canReceive(index, kind, mb) ? std::max(stage.arrivals[kind][mb], stage.decides) : kNever;
  }

  /// Where sends meet their receives, a stage receives the next when it has sent the last, and that is taken when the
  /// receiver has begun the one before.
  bool canReceive(int64_t index, Action::Kind kind, int64_t mb) const {
    int64_t sender = kind == Action::Forward ? index - 1 : index + 1, receiver = 2 * index - sender;
    auto isStage = [&](int64_t stage) { return stage >= 0 && stage < int64_t(stages.size()); };
    return !isStage(sender) || !isStage(receiver) || mb < stages[receiver].counts[kind] + 2;
  }

  /// Lets stage `index` begin an action or wait. Whether it began one.
  bool decide(int64_t index) {
    Stage &stage = stages[index];
    double now = stage.decides, forward = ready(index, Action::Forward), backward = ready(index, Action::Backward);
    bool isBehind = stage.counts[Action::Forward] - stage.counts[Action::Backward] < stage.lead;
    bool spoils = !settings.delaysFirstBackward && stage.counts[Action::Backward] == 0 && backward > now &&
                  backward < now + problem.costsOf(index).forward;
    if (isBy(forward, now) && isBehind && !spoils)
      return begin(index, Action::Forward);
    if (isBy(backward, now))
      return begin(index, Action::Backward);
    double next = isBehind && !isBy(forward, now) ? std::min(forward, backward) : backward;
    if (stage.counts[Action::WeightGradient] < stage.counts[Action::Backward] && fills(stage, index, next - now))
      return begin(index, Action::WeightGradient);
    // What is not under way yet wakes the stage.
    stage.decides = next;
    return false;
  }

  /// Whether a W is to fill a gap.
  bool fills(const Stage &stage, int64_t index, double gap) const {
    bool isFull = stage.counts[Action::Forward] < problem.microbatches &&
                  stage.counts[Action::Forward] - stage.counts[Action::WeightGradient] >= problem.live;
    double most = 0;
    for (const Stage &other : stages)
      most = std::max(most, other.idle);
    return isFull || isBy(problem.costsOf(index).weightGradient, gap) ||
           (settings.fillsShortGaps && stage.idle + gap >= most);
  }

  bool begin(int64_t index, Action::Kind kind) {
    Stage &stage = stages[index];
    const TaskCosts &costs = problem.costsOf(index);
    double durations[] = {costs.forward, costs.backward, costs.weightGradient}, now = stage.decides;
    stage.idle += stage.order.empty() ? 0 : now - stage.end;
    stage.end = stage.decides = now + durations[kind];
    int64_t mb = stage.counts[kind]++;
    stage.order.push_back({kind, mb});
    // The last stage's backward needs its forward alone.
    if (kind == Action::Forward && index + 1 == int64_t(stages.size()))
      stage.arrivals[Action::Backward][mb] = stage.end;
    for (int64_t neighbour : {index - 1, index + 1}) {
      if (kind == Action::WeightGradient || neighbour < 0 || neighbour == int64_t(stages.size()))
        continue;
      Stage &other = stages[neighbour];
      if (neighbour == (kind == Action::Forward ? index + 1 : index - 1))
        other.arrivals[kind][mb] = stage.end + problem.costs.communication;
      // There may be something to begin, or to receive.
      other.decides = std::min(other.decides, std::max(now, other.end));
    }
    return true;
  }

  const OrderProblem &problem;
  GreedySettings settings;
  std::vector<Stage> stages;
};
} // namespace

Schedule p3d::makeGreedyOrder(const OrderProblem &problem, GreedySettings settings) {
  return GreedyOrder(problem, settings).run();
}
