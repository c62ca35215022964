// Checks by counting and by running: a schedule is run action by action; if all stages wait, it deadlocks.
#include "passes/Schedule/ScheduleChecker.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace llvm;
using namespace p3d;

ScheduleChecker ScheduleChecker::forChain(int64_t stages, int64_t microbatches) {
  std::vector<Transfer> transfers;
  for (int64_t i = 0; i + 1 < stages; ++i) {
    transfers.push_back({i, i + 1, Action::Forward});
    transfers.push_back({i + 1, i, Action::Backward});
  }
  return ScheduleChecker(stages, microbatches, std::move(transfers));
}

std::optional<std::string> ScheduleChecker::check(const Schedule &schedule, ArrayRef<int64_t> slots) const {
  if (int64_t(schedule.size()) != stages)
    return formatv("the schedule has {0} stages, expected {1}", schedule.size(), stages).str();
  if (auto fault = checkComplete(schedule))
    return fault;
  if (auto fault = checkSlots(schedule, slots))
    return fault;
  return checkDeadlock(schedule, slots);
}

std::optional<std::string> ScheduleChecker::checkComplete(const Schedule &schedule) const {
  bool split = any_of(schedule, [](const StageOrder &order) {
    return any_of(order, [](Action action) { return action.kind == Action::WeightGradient; });
  });
  std::vector<Action::Kind> kinds{Action::Forward, Action::Backward};
  if (split)
    kinds.push_back(Action::WeightGradient);
  for (auto [stage, order] : enumerate(schedule)) {
    std::set<std::string> done;
    for (Action action : order) {
      if (action.microbatch >= microbatches)
        return formatv("stage {0}: {1} is beyond the {2} microbatches", stage, toString(action), microbatches).str();
      Action before{Action::Kind(action.kind - 1), action.microbatch};
      if (action.kind != Action::Forward && !done.count(toString(before)))
        return formatv("stage {0}: {1} comes before {2}", stage, toString(action), toString(before)).str();
      if (!done.insert(toString(action)).second)
        return formatv("stage {0}: {1} comes twice", stage, toString(action)).str();
    }
    for (Action::Kind kind : kinds)
      for (int64_t mb = 0; mb < microbatches; ++mb)
        if (!done.count(toString({kind, mb})))
          return formatv("stage {0}: {1} is missing", stage, toString({kind, mb})).str();
  }
  return std::nullopt;
}

/// Calls `visit(started, ended)` for each action: the microbatch whose life begins with it, and whose ends (-1: none).
static void walkLives(const StageOrder &order, function_ref<void(int64_t started, int64_t ended)> visit) {
  bool split = any_of(order, [](Action action) { return action.kind == Action::WeightGradient; });
  Action::Kind last = split ? Action::WeightGradient : Action::Backward;
  for (Action action : order)
    visit(action.kind == Action::Forward ? action.microbatch : -1, action.kind == last ? action.microbatch : -1);
}

int64_t p3d::countLive(const StageOrder &order) {
  int64_t live = 0, most = 0;
  walkLives(order, [&](int64_t started, int64_t ended) {
    live += started >= 0;
    most = std::max(most, live);
    live -= ended >= 0;
  });
  return most;
}

std::optional<std::string> ScheduleChecker::checkSlots(const Schedule &schedule, ArrayRef<int64_t> slots) const {
  std::optional<std::string> fault;
  for (int64_t stage = 0; stage < stages && !fault; ++stage) {
    DenseMap<int64_t, int64_t> holder;
    walkLives(schedule[stage], [&](int64_t started, int64_t ended) {
      if (started >= 0 && !holder.try_emplace(started % slots[stage], started).second && !fault)
        fault = formatv("stage {0}: F{1} takes slot {2} of {3} while microbatch {4} is alive in it", stage, started,
                        started % slots[stage], slots[stage], holder[started % slots[stage]]);
      if (ended >= 0)
        holder.erase(ended % slots[stage]);
    });
  }
  return fault;
}

namespace {
/// Runs a schedule under the semantics of the runtime: a send is posted when its action ends, a receive blocks until
/// then, and a slot is not taken again before what was sent from it has been received, which is when the receiving
/// action begins.
class Simulation {
public:
  Simulation(const Schedule &schedule, ArrayRef<Transfer> transfers, ArrayRef<int64_t> slots)
      : schedule(schedule), transfers(transfers), slots(slots), next(schedule.size(), 0), begun(schedule.size()) {}

  /// Runs until nothing can go on; nothing if that is the end.
  std::optional<std::string> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < schedule.size(); ++stage)
        while (next[stage] < schedule[stage].size() && !waitsFor(stage)) {
          begun[stage].insert(toString(schedule[stage][next[stage]++]));
          moved = true;
        }
    }
    std::string waits;
    for (size_t stage = 0; stage < schedule.size(); ++stage)
      if (next[stage] < schedule[stage].size())
        waits += formatv("{0}stage {1} at {2} waits for {3}", waits.empty() ? "" : ", ", stage,
                         toString(schedule[stage][next[stage]]), *waitsFor(stage));
    return waits.empty() ? std::nullopt : std::optional("the schedule deadlocks: " + waits);
  }

private:
  bool hasBegun(int64_t stage, Action action) const { return begun[stage].count(toString(action)); }

  /// What the next action of `stage` waits for, if anything.
  std::optional<std::string> waitsFor(int64_t stage) const {
    Action action = schedule[stage][next[stage]];
    for (const Transfer &transfer : transfers) {
      Action at{transfer.kind, action.microbatch};
      if (transfer.to == stage && transfer.kind == action.kind && !hasBegun(transfer.from, at))
        return formatv("{0} of stage {1}", toString(at), transfer.from).str();
      // The microbatch that had this slot before.
      at.microbatch -= slots[stage];
      if (transfer.from == stage && at.microbatch >= 0 && hasBegun(stage, at) && !hasBegun(transfer.to, at))
        return formatv("stage {0} to receive what {1} sent", transfer.to, toString(at)).str();
    }
    return std::nullopt;
  }

  const Schedule &schedule;
  ArrayRef<Transfer> transfers;
  ArrayRef<int64_t> slots;
  std::vector<size_t> next;
  std::vector<std::set<std::string>> begun; ///< an action that has begun ends, so begun means done for the others
};
} // namespace

std::optional<std::string> ScheduleChecker::checkDeadlock(const Schedule &schedule, ArrayRef<int64_t> slots) const {
  return Simulation(schedule, transfers, slots).run();
}
