// --trace: every task and message of every rank, one inside the other, and what is left of a run that failed.
#include "runtime/Program/Program.h"
#include "runtime/Train/Trace.h"
#include "runtime/tools/p3d-run/Build.h"
#include "runtime/tools/p3d-run/Progress.h"
#include "test/unit/runtime/ToyRun.h"
#include <fcntl.h>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace p3d;
using namespace p3d::test;
using nlohmann::json;
using testing::ElementsAreArray;
using testing::HasSubstr;

namespace {

std::vector<json> eventsOf(const std::string &path) { return json::parse(std::ifstream(path)).at("traceEvents"); }

/// Those of one rank in one step, the tasks as p3d-run names them.
std::vector<std::string> namesOf(const std::vector<json> &events, int rank, int64_t step, const std::string &category) {
  std::vector<std::string> names;
  std::vector<std::pair<double, std::string>> found;
  for (const json &event : events)
    if (event.at("ph") == "X" && event.at("pid") == rank && event.at("cat") == category && event.at("args").at("step") == step)
      found.emplace_back(event.at("ts"), event.at("name"));
  std::sort(found.begin(), found.end());
  for (auto &[time, name] : found)
    names.push_back(name);
  return names;
}

TEST(Trace, ShowsTheOrderOfEachRank) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=3 --trace=" + toy.path("t.json"));
  ASSERT_EQ(result.exitCode, 0) << result.output;
  std::vector<json> events = eventsOf(toy.path("t.json"));
  Build build = Build::open(toy.path(""));
  for (int rank = 0; rank < build.worldSize(); ++rank) {
    const Program &program = *build.programs[rank];
    std::vector<std::string> order;
    for (const OrderEntry &entry : program.order) {
      const std::string &task = program.tasks[entry.task];
      order.push_back(task == "synchronize" ? task : task + " " + std::to_string(entry.mb));
    }
    for (int64_t step : {1, 2, 3}) {
      EXPECT_THAT(namesOf(events, rank, step, "task"), ElementsAreArray(order)) << rank;
      EXPECT_THAT(namesOf(events, rank, step, "phase"), testing::ElementsAre("input", "update")) << rank;
      EXPECT_FALSE(namesOf(events, rank, step, "communication").empty()) << rank;
    }
  }
}

TEST(Trace, MessagesLieInsideTasks) {
  ToyRun toy;
  ASSERT_EQ(toy.run("--steps=2 --trace=" + toy.path("t.json")).exitCode, 0);
  std::vector<json> events = eventsOf(toy.path("t.json"));
  auto endOf = [](const json &event) { return double(event.at("ts")) + double(event.at("dur")); };
  for (const json &inner : events) {
    if (inner.at("ph") != "X" || inner.at("cat") != "communication")
      continue;
    EXPECT_LE(double(inner.at("args").at("waited_us")), double(inner.at("dur")) + 1e-3);
    EXPECT_TRUE(std::any_of(events.begin(), events.end(), [&](const json &outer) {
      return outer.at("ph") == "X" && outer.at("cat") == "task" && outer.at("pid") == inner.at("pid") && outer.at("ts") <= inner.at("ts") && endOf(inner) <= endOf(outer) + 1e-3;
    })) << inner;
  }
}

TEST(Trace, KeepsWhatLedToAFailure) {
  ToyRun toy;
  EXPECT_EQ(toy.run("--steps=5 --trace=" + toy.path("t.json"), "TOY_CRASH=3").exitCode, 3);
  std::vector<json> events = eventsOf(toy.path("t.json"));
  EXPECT_FALSE(namesOf(events, 3, 1, "task").empty());
  EXPECT_TRUE(namesOf(events, 3, 2, "task").empty());
}

TEST(Trace, SaysWhereItCannotWrite) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=1 --trace=/nowhere/t.json");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("/nowhere/t.json: cannot be written: No such file or directory"));
  Trace trace(open("/dev/full", O_WRONLY | O_CLOEXEC));
  trace.add({});
  try {
    trace.flush();
    FAIL() << "nothing was reported";
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), HasSubstr("--trace: the events of a step cannot be written: No space left on device"));
  }
}

TEST(Progress, EstimatesWhatIsLeft) {
  EXPECT_EQ(timeLeft(10, 394, 100), "  1:05:40 left");
  EXPECT_EQ(timeLeft(2, 3, 20), "  0:00:30 left");
  EXPECT_EQ(timeLeft(10, 0, 100), "");
  EXPECT_EQ(timeLeft(100, 50, 10), "");
  EXPECT_EQ(timeLeft(0, 5, 0), "");
}

} // namespace
