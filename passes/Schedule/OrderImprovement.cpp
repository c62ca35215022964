// Local moves: what a stage waits for is followed back to its first action, and what stands on that way is moved.
#include "passes/Schedule/OrderSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <tuple>

using namespace llvm;
using namespace p3d;

OrderCost::OrderCost(const ScheduleTiming &timing) : stageSpan(timing.stageSpan), makespan(timing.makespan) {
  for (const auto &spans : timing.spans)
    sumOfSpans += spans.empty() ? 0 : spans.back().end - spans.front().start;
}

OrderCost::OrderCost(const OrderProblem &problem, const Schedule &schedule)
    : OrderCost(timeSchedule(schedule, problem.transfers, problem.costs)) {}

bool OrderCost::isBelow(const OrderCost &other) const {
  // Differences of rounding are none.
  auto isLess = [](double a, double b) { return b - a > 1e-9 * a; };
  for (auto part : {&OrderCost::stageSpan, &OrderCost::makespan})
    if (isLess(this->*part, other.*part) || isLess(other.*part, this->*part))
      return this->*part < other.*part;
  return isLess(sumOfSpans, other.sumOfSpans);
}

namespace {
/// A place in the order of a stage.
struct Place {
  int64_t stage, index;
};

class Improvement {
public:
  Improvement(const OrderProblem &problem, Schedule &schedule)
      : problem(problem), schedule(schedule), timing(timeSchedule(schedule, problem.transfers, problem.costs)) {
    for (const StageOrder &order : schedule)
      actions += order.size();
  }

  void run() {
    while (improve())
      ;
  }

private:
  /// Bounds the time of the search by the actions that it times, so that its result is the same on any machine.
  static constexpr int64_t kMostTimed = 5'000'000;
  /// To run an order takes as long as to time it so often.
  static constexpr int64_t kTimedAsRun = 20;

  /// Makes the first move that helps. Whether there was one.
  bool improve() {
    for (Place place : collectDelaying()) {
      bool isWeightGradient = schedule[place.stage][place.index].kind == Action::WeightGradient;
      for (int64_t step : {-1, -2, -3, -4, 1, 2, 4, 8, 16, 32})
        if ((step < 0 || isWeightGradient) && move(place, place.index + step))
          return true;
    }
    return false;
  }

  /// Moves an action to another index of its stage if that makes the cost less.
  bool move(Place place, int64_t to) {
    StageOrder &order = schedule[place.stage];
    if (to < 0 || to >= int64_t(order.size()) || timed > kMostTimed)
      return false;
    StageOrder before = order;
    auto from = order.begin() + place.index;
    to < place.index ? std::rotate(order.begin() + to, from, from + 1)
                     : std::rotate(from, from + 1, order.begin() + to + 1);
    if (renumber(order) && order != before) {
      timed += actions;
      ScheduleTiming moved = timeSchedule(schedule, problem.transfers, problem.costs);
      if (OrderCost(moved).isBelow(OrderCost(timing))) {
        timed += kTimedAsRun * actions;
        if (canRun(problem, schedule)) {
          timing = std::move(moved);
          return true;
        }
      }
    }
    order = std::move(before);
    return false;
  }

  /// Gives the actions of each kind the microbatches in order. Whether all have what they need, and no more are alive
  /// than may.
  bool renumber(StageOrder &order) const {
    int64_t counts[3] = {};
    for (Action &action : order) {
      action.microbatch = counts[action.kind]++;
      if (counts[Action::Backward] > counts[Action::Forward] ||
          counts[Action::WeightGradient] > counts[Action::Backward] ||
          counts[Action::Forward] - counts[Action::WeightGradient] > problem.live)
        return false;
    }
    return true;
  }

  /// From the end of the longest stage back: each action begins when the one before in this list ends.
  std::vector<Place> collectDelaying() const {
    int64_t longest = 0;
    auto spanOf = [&](int64_t stage) { return timing.spans[stage].back().end - timing.spans[stage].front().start; };
    for (int64_t stage = 1; stage < problem.countStages(); ++stage)
      if (spanOf(stage) > spanOf(longest))
        longest = stage;
    std::vector<Place> places;
    for (Place place{longest, int64_t(schedule[longest].size()) - 1}; place.index >= 0;) {
      places.push_back(place);
      const auto &spans = timing.spans[place.stage];
      bool isIdleBefore =
          place.index > 0 ? spans[place.index].start > spans[place.index - 1].end : spans[place.index].start > 0;
      place = isIdleBefore ? findProducer(place) : Place{place.stage, place.index - 1};
    }
    return places;
  }

  /// Where what this action waits for is made.
  Place findProducer(Place place) const {
    Action action = schedule[place.stage][place.index];
    int64_t stage = action.kind == Action::Forward ? place.stage - 1 : place.stage + 1;
    return {stage, find(schedule[stage], action) - schedule[stage].begin()};
  }

  const OrderProblem &problem;
  Schedule &schedule;
  ScheduleTiming timing;
  int64_t actions = 0, timed = 0;
};
} // namespace

void p3d::improveOrder(const OrderProblem &problem, Schedule &schedule) { Improvement(problem, schedule).run(); }
