#include "passes/Schedule/ScheduleText.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace p3d;

static constexpr StringLiteral kBlanks = " \t\r";

/// The next word of `line`, which loses it; empty at the end.
static StringRef takeWord(StringRef &line) {
  line = line.ltrim(kBlanks);
  StringRef word = line.take_until([](char c) { return kBlanks.contains(c) || c == ':'; });
  line = line.drop_front(word.size());
  return word;
}

/// Takes "stage 3:" off `line`. Whether it was not there or is right.
static bool takeStage(StringRef &line, size_t stage, TextComplaint complain) {
  StringRef rest = line;
  if (takeWord(rest) != "stage")
    return true;
  StringRef number = takeWord(rest);
  size_t found = 0;
  if (number.getAsInteger(10, found) || found != stage) {
    complain(number, "found stage '" + number + "', expected " + Twine(stage) + ": one line for each stage, in order");
    return false;
  }
  rest = rest.ltrim(kBlanks);
  rest.consume_front(":");
  line = rest;
  return true;
}

/// The actions of `line` into `order`.
static bool parseOrder(StringRef line, StageOrder &order, TextComplaint complain) {
  for (line = line.ltrim(kBlanks); !line.empty(); line = line.ltrim(kBlanks)) {
    StringRef word = takeWord(line);
    // A colon that belongs to no stage.
    if (word.empty())
      word = line.take_front();
    std::optional<Action> action = parseAction(word);
    if (!action) {
      complain(word, "found '" + word + "', expected an action like F0, B0 or W0, or F0.1 for chunk 1");
      return false;
    }
    order.push_back(*action);
  }
  return true;
}

std::optional<Schedule> p3d::parseSchedule(StringRef text, TextComplaint complain) {
  Schedule schedule;
  for (StringRef line : split(text, '\n')) {
    StringRef actions = line.take_until([](char c) { return c == '#'; });
    if (actions.trim(kBlanks).empty())
      continue;
    if (!takeStage(actions, schedule.size(), complain) || !parseOrder(actions, schedule.emplace_back(), complain))
      return std::nullopt;
  }
  if (schedule.empty()) {
    complain(text.take_front(0), "found no stage, expected a line of actions like F0 B0 for each");
    return std::nullopt;
  }
  return schedule;
}

std::string p3d::printSchedule(const Schedule &schedule) {
  std::string text;
  for (auto [stage, order] : enumerate(schedule))
    text += "stage " + std::to_string(stage) + ": " + join(map_range(order, toString), " ") + "\n";
  return text;
}
