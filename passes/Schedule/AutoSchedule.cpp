// The search for an order (the idea of arXiv 2401.10241, 3.1): a rule makes one for each setting of its switches, local
// moves improve the best.
#include "passes/Schedule/OrderSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace llvm;
using namespace p3d;

bool p3d::canRun(const OrderProblem &problem, const Schedule &schedule) {
  Slots slots = countSlots(schedule);
  return none_of(std::array{Sending::Posted, Sending::Meeting}, [&](Sending sending) {
    return findDeadlock(schedule, problem.transfers, slots, sending).has_value();
  });
}

namespace {
/// The least costly order so far.
class Best {
public:
  explicit Best(const OrderProblem &problem) : problem(problem) {}

  void consider(Schedule candidate) {
    OrderCost itsCost(problem, candidate);
    if ((schedule.empty() || itsCost.isBelow(cost)) && canRun(problem, candidate)) {
      schedule = std::move(candidate);
      cost = itsCost;
    }
  }

  Schedule schedule;

private:
  const OrderProblem &problem;
  OrderCost cost;
};
} // namespace

Schedule p3d::makeAuto(ScheduleSize size) {
  if (size.costs.tasks.empty())
    size.costs = ScheduleCosts::uniform(size.stages, {1, 1, 1});
  OrderProblem problem{size.microbatches, size.live ? size.live : size.stages, size.costs,
                       chainTransfers(Placement::Loop, size.stages)};
  Best best(problem);
  for (auto make : {makeZeroBubbleH1, makeZeroBubbleH2})
    if (Schedule known = make(size); all_of(known, [&](auto &order) { return countLive(order) <= problem.live; }))
      best.consider(std::move(known));
  for (int percent = 75; percent <= 300; percent += 5)
    for (bool delaysFirstBackward : {false, true})
      for (bool fillsShortGaps : {false, true})
        best.consider(makeGreedyOrder(problem, {percent / 100.0, delaysFirstBackward, fillsShortGaps}));
  improveOrder(problem, best.schedule);
  return std::move(best.schedule);
}
