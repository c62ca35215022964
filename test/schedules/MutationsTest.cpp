// Orders that are wrong: one change to a right one, seeded. The checker refuses it exactly if a pipeline that executes
// it does not end, or ends with a wrong gradient.
#include "test/schedules/ToyPipeline.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <random>
#include <regex>

using namespace p3d;

namespace {
enum class Mutation { Swap, Drop, Double, LateBackward, TooEarly };
constexpr Mutation kMutations[] = {Mutation::Swap, Mutation::Drop, Mutation::Double, Mutation::LateBackward,
                                   Mutation::TooEarly};

class Mutator {
public:
  explicit Mutator(uint32_t seed) : random(seed) {}

  size_t below(size_t bound) { return random() % bound; }

  void mutate(StageOrder &order, Mutation mutation) {
    size_t at = below(order.size());
    switch (mutation) {
    case Mutation::Swap: {
      size_t other = below(order.size() - 1);
      std::swap(order[at], order[other + (other >= at)]);
      return;
    }
    case Mutation::Drop:
      order.erase(order.begin() + at);
      return;
    case Mutation::Double: {
      Action action = order[at];
      order.insert(order.begin() + at + 1 + below(order.size() - at), action);
      return;
    }
    case Mutation::LateBackward:
      at = pick(order, Action::Backward);
      move(order, at, std::min(order.size() - 1, at + 1 + below(6)));
      return;
    case Mutation::TooEarly: {
      // W before B, or where backwards are whole B before F.
      Action::Kind last = splitsBackward({order}) ? Action::WeightGradient : Action::Backward;
      at = pick(order, last);
      Action needed{Action::Kind(last - 1), order[at].microbatch, order[at].chunk};
      move(order, at, llvm::find(order, needed) - order.begin());
      return;
    }
    }
  }

private:
  size_t pick(const StageOrder &order, Action::Kind kind) {
    size_t at = below(order.size());
    while (order[at].kind != kind)
      at = (at + 1) % order.size();
    return at;
  }

  static void move(StageOrder &order, size_t from, size_t to) {
    Action action = order[from];
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, action);
  }

  std::mt19937 random;
};

std::string print(const Schedule &schedule) {
  std::string text;
  for (const StageOrder &order : schedule) {
    for (Action action : order)
      text += toString(action) + " ";
    text += "\n";
  }
  return text;
}
} // namespace

TEST(Mutations, TheCheckerRefusesWhatGoesWrong) {
  std::map<bool, int> verdicts;
  for (const NamedSchedule &entry : getSchedules())
    for (int64_t stages = 2; stages <= 4; ++stages) {
      ScheduleSize size{stages, 5, entry.chunks};
      Schedule whole = entry.make(size);
      ASSERT_TRUE(runsRight(whole, size, entry.placement)) << entry.name.str();
      for (uint32_t seed = 0; seed < 50; ++seed) {
        Mutator mutator(seed);
        Schedule schedule = whole;
        mutator.mutate(schedule[mutator.below(stages)], kMutations[seed % std::size(kMutations)]);
        auto fault = ScheduleChecker::forChain(size, entry.placement).check(schedule, countSlots(schedule));
        EXPECT_EQ(!fault, runsRight(schedule, size, entry.placement))
            << entry.name.str() << " seed " << seed << ": " << fault.value_or("passes") << "\n"
            << print(schedule);
        ++verdicts[fault.has_value()];
        std::regex pair("[FBW][0-9]+.*[FBW][0-9]+");
        EXPECT_TRUE(!fault || std::regex_search(*fault, pair)) << *fault;
      }
    }
  // Some swaps are harmless, and most changes are not.
  EXPECT_GT(verdicts[false], 20);
  EXPECT_GT(verdicts[true], 700);
}

TEST(Mutations, ThePipelineItselfFindsEachFault) {
  ScheduleSize size{2, 2};
  Schedule right = make1F1B(size);
  EXPECT_TRUE(runsRight(right, size, Placement::Loop));
  Schedule early = right, twice = right, missing = right;
  std::swap(early[1][0], early[1][1]);
  twice[1].push_back(twice[1].back());
  missing[1].pop_back();
  for (const Schedule &wrong : {early, twice, missing})
    EXPECT_FALSE(runsRight(wrong, size, Placement::Loop)) << print(wrong);
}
