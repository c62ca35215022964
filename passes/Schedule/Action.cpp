// Actions as text, and what follows from an order alone.
#include "passes/Schedule/Action.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;
using namespace p3d;

static constexpr StringLiteral kActionLetters = "FBW";

std::string p3d::toString(Action action) {
  std::string text = kActionLetters[action.kind] + std::to_string(action.microbatch);
  return action.chunk ? text + "." + std::to_string(action.chunk) : text;
}

std::optional<Action> p3d::parseAction(StringRef text) {
  size_t kind = text.empty() ? StringRef::npos : kActionLetters.find(text.front());
  auto [microbatchText, chunkText] = text.drop_front(text.empty() ? 0 : 1).split('.');
  int64_t microbatch, chunk = 0;
  if (kind == StringRef::npos || microbatchText.getAsInteger(10, microbatch) || microbatch < 0)
    return std::nullopt;
  if (text.contains('.') && (chunkText.getAsInteger(10, chunk) || chunk < 0))
    return std::nullopt;
  return Action{Action::Kind(kind), microbatch, chunk};
}

static bool splitsBackward(const StageOrder &order) {
  return any_of(order, [](Action action) { return action.kind == Action::WeightGradient; });
}

bool p3d::splitsBackward(const Schedule &schedule) {
  return any_of(schedule, [](const StageOrder &order) { return ::splitsBackward(order); });
}

/// The largest of a number of each action, plus one.
static int64_t countUpTo(const Schedule &schedule, int64_t Action::*number) {
  int64_t last = 0;
  for (const StageOrder &order : schedule)
    for (const Action &action : order)
      last = std::max(last, action.*number);
  return last + 1;
}

int64_t p3d::countChunks(const Schedule &schedule) { return countUpTo(schedule, &Action::chunk); }
int64_t p3d::countMicrobatches(const Schedule &schedule) { return countUpTo(schedule, &Action::microbatch); }

int64_t p3d::countLive(const StageOrder &order) {
  Action::Kind end = ::splitsBackward(order) ? Action::WeightGradient : Action::Backward;
  int64_t live = 0, most = 0;
  for (Action action : order) {
    live += action.kind == Action::Forward;
    most = std::max(most, live);
    live -= action.kind == end;
  }
  return most;
}

/// Whether no two microbatches of `chunk` are in one of `slots` slots from their forward to their action `end`.
static bool isEnough(const StageOrder &order, Action::Kind end, int64_t chunk, int64_t slots) {
  std::vector<char> taken(slots, false);
  for (Action action : order) {
    if (action.chunk != chunk)
      continue;
    char &slot = taken[action.microbatch % slots];
    if (action.kind == Action::Forward && std::exchange(slot, true))
      return false;
    if (action.kind == end)
      slot = false;
  }
  return true;
}

Slots p3d::countSlots(const Schedule &schedule) {
  Action::Kind end = splitsBackward(schedule) ? Action::WeightGradient : Action::Backward;
  int64_t chunks = countChunks(schedule);
  Slots slots;
  for (const StageOrder &order : schedule) {
    std::vector<int64_t> &counts = slots.emplace_back();
    // As many slots as actions are enough for any order of distinct microbatches.
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (counts.push_back(1); counts.back() < int64_t(order.size()) && !isEnough(order, end, chunk, counts.back());)
        ++counts.back();
  }
  return slots;
}
