// A 2x2x2 program that really runs: numbers against a plain double computation,
// and what happens when a rank fails.
#include "test/unit/runtime/ToyRun.h"
#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace p3d::test;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Seconds from the start of a run to the report of a failure; generous, since
/// tests share the machine.
constexpr double slowestReport = 10;

void expectNoRankLeft(const ToyRun &toy) {
  EXPECT_NE(runCommand("pgrep -f " + toy.path("bin/[r]ank_")).exitCode, 0)
      << "a rank process was left behind";
}

TEST(Launcher, MatchesOneDevice) { expectOneDevice(ToyRun()); }

TEST(Launcher, GivesTheSameBitsTwice) {
  ToyRun toy;
  for (const char *name : {"a", "b"})
    ASSERT_EQ(
        toy.run(std::string("--steps=20 --export=") + toy.path(name)).exitCode,
        0);
  EXPECT_EQ(readTensors(toy.path("a")), readTensors(toy.path("b")));
}

TEST(Launcher, ReportsADeadRank) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=5", "TOY_CRASH=3");
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_LT(result.seconds, slowestReport);
  EXPECT_THAT(result.output, HasSubstr("rank 3 was killed by signal 6"));
  EXPECT_THAT(result.output, HasSubstr("step 2 in task forward"));
  expectNoRankLeft(toy);
}

TEST(Launcher, ReportsAHangingRank) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=5 --timeout=0.5", "TOY_HANG=2");
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_LT(result.seconds, slowestReport);
  EXPECT_THAT(result.output, HasSubstr("rank 2 holds up the others"));
  EXPECT_THAT(result.output, HasSubstr("step 2 in task forward"));
  expectNoRankLeft(toy);
}

TEST(Launcher, NamesASlowRank) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=12", "TOY_SLOW=2");
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.output,
              testing::ContainsRegex(
                  "p3d-run: remark: rank 2 .tp 0, pp 0, dp 1. was busy [0-9.]+ times as long as the middle one of its stage, [0-9.]+ ms more in each step, "
                  "for which others wait; look at what else runs on its host or device\n"));
  EXPECT_THAT(toy.run("--steps=9", "TOY_SLOW=2").output, Not(HasSubstr("remark")));
}

TEST(Launcher, LeavesNoFileWhenARankDies) {
  ToyRun toy;
  size_t before = toy.files().size();
  EXPECT_EQ(
      toy.run("--steps=5 --export=" + toy.path("x.safetensors"), "TOY_CRASH=0")
          .exitCode,
      3);
  EXPECT_EQ(toy.files().size(), before);
}

TEST(Launcher, ReportsAStoppedRank) {
  ToyRun toy;
  std::string rank = toy.path("bin/[r]ank_1");
  CommandResult result =
      runCommand("(timeout 60 " + std::string(P3D_BIN) + "/p3d-run " +
                 toy.path("") + " --data=" + toy.path("batch.safetensors") +
                 " --steps=100000000 --timeout=1 > /dev/null; echo code $?) & "
                 "until pgrep -f " +
                 rank +
                 " > /dev/null; do sleep 0.1; done; "
                 "sleep 0.2; kill -STOP $(pgrep -f " +
                 rank + "); wait");
  EXPECT_THAT(result.output, HasSubstr("rank 1 holds up the others"));
  EXPECT_THAT(result.output, HasSubstr("and its process is stopped by a signal"));
  EXPECT_THAT(result.output, HasSubstr("code 3"));
  EXPECT_LT(result.seconds, slowestReport);
  expectNoRankLeft(toy);
}

TEST(Launcher, AFullDiskLeavesNothing) {
  ToyRun toy;
  size_t before = toy.files().size();
  CommandResult result = toy.run(
      "--steps=2 --export=" + toy.path("x.safetensors"), "ulimit -f 0;");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("x.safetensors: cannot reserve"));
  EXPECT_EQ(toy.files().size(), before);
  result = toy.run("--steps=2 --log=/dev/full");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("No space left"));
}

TEST(Launcher, ADeadLauncherTakesItsRanksAlong) {
  ToyRun toy;
  runCommand(std::string(P3D_BIN) + "/p3d-run " + toy.path("") +
             " --data=" + toy.path("batch.safetensors") +
             " --steps=100000000 > /dev/null & sleep 0.3; kill -KILL $!;"
             "sleep 0.3");
  expectNoRankLeft(toy);
}

TEST(Launcher, RefusesWrongTensors) {
  ToyRun toy;
  CommandResult result =
      toy.run("--steps=1 --params=" + toy.path("batch.safetensors"));
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("tensor params.a is missing; expected F32 [4,6]"));
}

TEST(Launcher, ARankAloneRefuses) {
  ToyRun toy;
  CommandResult result =
      runCommand("RANK=0 WORLD_SIZE=8 " + toy.path("bin/rank_0"));
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output,
              HasSubstr("error: a rank needs a launcher: start all with p3d-run DIR "
                        "--steps=N, or one with DIR/bin/rank --steps=N under mpirun, "
                        "srun or torchrun"));
}

/// Every rank by itself, as mpirun starts them.
std::vector<ToyRun::Part> eachRank(const std::string &flags) {
  std::vector<ToyRun::Part> parts;
  for (int rank = 0; rank < 8; ++rank)
    parts.push_back({"RANK=" + std::to_string(rank) + " WORLD_SIZE=8 ", flags});
  return parts;
}

std::vector<ToyRun::Part> eachHost(const std::string &flags, int ranksPerHost = 4) {
  std::vector<ToyRun::Part> parts;
  for (int host = 0, hosts = 8 / ranksPerHost; host < hosts; ++host)
    parts.push_back({"RANK=" + std::to_string(host) + " WORLD_SIZE=" + std::to_string(hosts) + " ",
                     "--ranks-per-host=" + std::to_string(ranksPerHost) + " " + flags, true});
  return parts;
}

TEST(Launcher, SeveralHostsGiveTheSameBits) {
  ToyRun together, ranks, hosts;
  std::string flags = "--steps=4 --seed=3 --export=";
  ASSERT_EQ(together.run(flags + together.path("end")).exitCode, 0);
  for (const CommandResult &result : ranks.runParts(eachRank(flags + ranks.path("end")), ""))
    ASSERT_EQ(result.exitCode, 0) << result.output;
  for (const CommandResult &result : hosts.runParts(eachHost(flags + hosts.path("end")), ""))
    ASSERT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(readTensors(ranks.path("end")), readTensors(together.path("end")));
  EXPECT_EQ(readTensors(hosts.path("end")), readTensors(together.path("end")));
  expectNoRankLeft(hosts);
}

TEST(Launcher, SeveralHostsSaveAndResume) {
  ToyRun together, hosts;
  ASSERT_EQ(together.run("--steps=6 --seed=3 --export=" + together.path("end")).exitCode, 0);
  std::string save = " --seed=3 --save-every=2 --save=" + hosts.path("save");
  for (const CommandResult &result : hosts.runParts(eachHost("--steps=4" + save), ""))
    ASSERT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(runCommand("cat " + hosts.path("save/latest")).output, "step_4\n");
  EXPECT_EQ(runCommand("ls -A " + hosts.path("save")).output, "latest\nstep_2\nstep_4\n");
  std::string rest = "--steps=6 --resume=" + hosts.path("save") + " --export=" + hosts.path("end");
  for (const CommandResult &result : hosts.runParts(eachHost(rest), ""))
    ASSERT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(readTensors(hosts.path("end")), readTensors(together.path("end")));
}

TEST(Launcher, SeveralHostsStartAgain) {
  ToyRun together, hosts;
  ASSERT_EQ(together.run("--steps=6 --seed=3 --export=" + together.path("end")).exitCode, 0);
  // A rank that is not the root's dies at its second step, once.
  std::string died = hosts.path("died");
  hosts.setProgram(3, "[ -e " + died + " ] || [ \"$1\" = --describe ] || { touch " + died + "; export TOY_CRASH=3; }; exec " P3D_TOY "/bin/stage0 \"$@\"");
  std::string flags = "--steps=6 --seed=3 --elastic=restart --save-every=1 --save=" + hosts.path("save") + " --export=" + hosts.path("end");
  std::vector<CommandResult> results = hosts.runParts(eachHost(flags, 2), "");
  for (const CommandResult &result : results)
    EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(results[0].output, HasSubstr("rank 3 was killed by signal 6 (Aborted), at step 2 in task "));
  // The checkpoint of the first step may have been written by then, or not.
  EXPECT_THAT(results[0].output, testing::ContainsRegex("p3d-run: starting again (from the beginning|after .*/save/step_1)"));
  EXPECT_EQ(readTensors(hosts.path("end")), readTensors(together.path("end")));
  EXPECT_EQ(runCommand("ls -A " + hosts.path("save")).output, "latest\nstep_1\nstep_2\nstep_3\nstep_4\nstep_5\nstep_6\n");
  expectNoRankLeft(hosts);
}

/// Where it dies again and again, all give up.
TEST(Launcher, SeveralHostsGiveUp) {
  ToyRun hosts;
  std::vector<CommandResult> results = hosts.runParts(eachHost("--steps=6 --elastic=restart --save=" + hosts.path("save"), 2), "TOY_CRASH=3 ");
  for (const CommandResult &result : results)
    EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(results[0].output, HasSubstr("p3d-run: starting again from the beginning"));
  EXPECT_THAT(results[0].output, HasSubstr("p3d-run: error: 3 runs have failed without a new checkpoint; not started again"));
  expectNoRankLeft(hosts);
}

TEST(Launcher, HostsThatSaveInTheirOwnDirectories) {
  ToyRun toy;
  // Another host: the same name leads elsewhere.
  std::vector<ToyRun::Part> parts = eachHost("--steps=4 --save-every=2 --save=save");
  parts[1].environment += "env -C " + toy.path("bin") + " ";
  std::vector<CommandResult> results = toy.runParts(parts, "cd " + toy.path("") + "; ");
  EXPECT_EQ(results[0].exitCode, 1);
  EXPECT_THAT(results[0].output, HasSubstr("--save=save: is another directory than on the host of rank 0; name one that all hosts see"));
}

TEST(Launcher, ARankOfAnotherHostThatDies) {
  ToyRun toy;
  std::vector<CommandResult> hosts = toy.runParts(eachHost("--steps=5", 2), "TOY_CRASH=3 ");
  EXPECT_THAT(hosts[0].output, HasSubstr("rank 3 was killed by signal 6 (Aborted), at step 2 in task forward"));
  for (const CommandResult &host : hosts)
    EXPECT_EQ(host.exitCode, 3);
  expectNoRankLeft(toy);
}

TEST(Launcher, ARankOfAnotherHostThatHangs) {
  ToyRun toy;
  std::vector<CommandResult> hosts = toy.runParts(eachHost("--steps=5 --timeout=3", 2), "TOY_HANG=2 ");
  EXPECT_THAT(hosts[0].output, testing::ContainsRegex("rank 2 holds up the others: rank 2 on .* is at step 2 in task forward"));
  for (const CommandResult &host : hosts)
    EXPECT_EQ(host.exitCode, 3);
  expectNoRankLeft(toy);
}

} // namespace
