// Tests with several ranks: a scenario is a function that each of some processes runs; the test looks at how they end.
#pragma once
#include "test/emulator/tests/Nccl.h"
#include <map>
#include <string>
#include <vector>

/// What a rank has: the device, NCCL, and one communicator of all ranks.
struct RankContext {
  int rank, ranks;
  ncclUniqueId id;
};

struct RankResult {
  int code;         ///< exit code, or 128 + signal
  std::string text; ///< of stderr
};

using Scenario = void (*)(RankContext &);

/// Gives a scenario its name; used at namespace scope.
struct RegisterScenario {
  RegisterScenario(const char *name, Scenario scenario);
};
#define SCENARIO(name)                                                                                                 \
  static void name(RankContext &rank);                                                                                 \
  static RegisterScenario name##Registered(#name, name);                                                               \
  static void name(RankContext &rank)

/// Runs the scenario in `ranks` processes with these additions to the environment.
std::vector<RankResult> runRanks(const char *scenario, int ranks, std::map<std::string, std::string> environment = {});

/// The test's main: a process that was started for a scenario runs it and ends.
int mainOfRanks(int argc, char **argv);
