// Ranks that are started one by one, or host by host, as on a cluster: the toy program on emulated devices.
#include "runtime/tools/p3d-run/Cluster/Link.h"
#include "test/unit/runtime/ToyRun.h"
#include <cstring>
#include <future>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

using namespace p3d;
using namespace p3d::test;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

const std::string emulator = "LD_LIBRARY_PATH=" P3D_EMULATOR " ";
constexpr int ranks = 8;

std::string torchrun(int rank, int size = ranks) {
  return "RANK=" + std::to_string(rank) + " WORLD_SIZE=" + std::to_string(size) +
         " LOCAL_RANK=" + std::to_string(rank) + " ";
}

/// Every rank by itself, with these flags; `flagsOf3` those of rank 3.
std::vector<ToyRun::Part> eachRank(const std::string &flags, const std::string &flagsOf3) {
  std::vector<ToyRun::Part> parts;
  for (int rank = 0; rank < ranks; ++rank)
    parts.push_back({torchrun(rank), rank == 3 ? flagsOf3 : flags});
  return parts;
}

std::vector<ToyRun::Part> eachRank(const std::string &flags) { return eachRank(flags, flags); }

/// What p3d-run itself prints and writes with these flags, in the file `end`.
std::string losses(const std::string &output) {
  std::string kept;
  for (size_t at = output.find("  loss "); at != std::string::npos; at = output.find("  loss ", at + 1))
    kept += output.substr(at, output.find("  lr ", at) - at) + "\n";
  return kept;
}

/// Only the root speaks, and all end with `code`.
void expectOneMessage(const std::vector<CommandResult> &results, int code, const std::string &text) {
  EXPECT_THAT(results[0].output, HasSubstr(text));
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].exitCode, code) << "part " << i << ": " << results[i].output;
    if (i > 0)
      EXPECT_THAT(results[i].output, Not(HasSubstr("error: "))) << "part " << i;
  }
}

TEST(Cluster, RanksOneByOneGiveTheSame) {
  ToyRun together, apart;
  CommandResult one = together.run("--steps=3 --seed=3 --export=" + together.path("end"), emulator);
  ASSERT_EQ(one.exitCode, 0) << one.output;
  std::vector<CommandResult> each = apart.runParts(
      eachRank("--steps=3 --seed=3 --export=" + apart.path("end") + " --log=" + apart.path("log")), emulator);
  for (const CommandResult &result : each)
    ASSERT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(losses(each[0].output), losses(one.output));
  EXPECT_THAT(losses(one.output), Not(IsEmpty()));
  for (int rank = 1; rank < ranks; ++rank)
    EXPECT_THAT(each[rank].output, IsEmpty());
  EXPECT_EQ(readTensors(apart.path("end")), readTensors(together.path("end")));
  EXPECT_EQ(runCommand("wc -l < " + apart.path("log")).output, "3\n");
}

TEST(Cluster, HostByHostGivesTheSame) {
  ToyRun together, apart;
  CommandResult one = together.run("--steps=3 --seed=3 --dump-grads=" + together.path("grads"), emulator);
  ASSERT_EQ(one.exitCode, 0) << one.output;
  std::string flags = "--ranks-per-host=4 --steps=3 --seed=3 --dump-grads=" + apart.path("grads");
  // Two hosts of four devices: here one machine, whose second half the second takes.
  std::vector<CommandResult> hosts = apart.runParts({{"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0", flags, true},
                                                     {"SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1", flags, true}},
                                                    emulator);
  for (const CommandResult &result : hosts)
    ASSERT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(losses(hosts[0].output), losses(one.output));
  EXPECT_EQ(readTensors(apart.path("grads")), readTensors(together.path("grads")));
}

TEST(Cluster, ARankThatDies) {
  ToyRun toy;
  expectOneMessage(toy.runParts(eachRank("--steps=5 --seed=3"), emulator + "TOY_CRASH=3 "), 3,
                   "rank 3 was killed by signal 6 (Aborted), at step 2 in task forward");
}

TEST(Cluster, ARankThatHangs) {
  ToyRun toy;
  expectOneMessage(toy.runParts(eachRank("--steps=5 --seed=3 --timeout=3"), emulator + "TOY_HANG=2 "), 3,
                   "rank 2 holds up the others: rank 2 is at step 2 in task forward");
}

TEST(Cluster, ALauncherThatIsKilled) {
  ToyRun toy;
  std::vector<ToyRun::Part> parts = eachRank("--steps=100000 --seed=3");
  parts[5].killAfter = 8;
  std::vector<CommandResult> results = toy.runParts(parts, emulator);
  EXPECT_EQ(results[0].exitCode, 3);
  EXPECT_THAT(results[0].output,
              ContainsRegex("the launcher of ranks 5 on .* is gone; rank 5 was at step .*; all ranks are stopped"));
  EXPECT_NE(runCommand("pgrep -f " + toy.path("bin/[r]ank_")).exitCode, 0) << "a rank was left behind";
}

TEST(Cluster, ARootThatIsKilled) {
  ToyRun toy;
  std::vector<ToyRun::Part> parts = eachRank("--steps=100000 --seed=3");
  parts[0].killAfter = 8;
  std::vector<CommandResult> results = toy.runParts(parts, emulator);
  for (int rank = 1; rank < ranks; ++rank) {
    EXPECT_EQ(results[rank].exitCode, 3);
    EXPECT_THAT(results[rank].output, AllOf(HasSubstr("the launcher of rank 0 at 127.0.0.1:"),
                                            HasSubstr(" is gone; the ranks here are stopped")));
  }
}

TEST(Cluster, ARankThatNeverComes) {
  ToyRun toy;
  std::vector<ToyRun::Part> parts = eachRank("--steps=2 --timeout=2");
  parts.erase(parts.begin() + 6, parts.end());
  std::vector<CommandResult> results = toy.runParts(parts, emulator);
  EXPECT_THAT(results[0].output, HasSubstr("ranks 6, 7 have not come to port "));
  EXPECT_THAT(results[0].output, HasSubstr(" within 2 s; all 8 are to be started together"));
  for (const CommandResult &result : results)
    EXPECT_EQ(result.exitCode, 3) << result.output;
}

TEST(Cluster, ARootThatNeverComes) {
  ToyRun toy;
  CommandResult alone = toy.runParts({{torchrun(1), "--steps=2 --timeout=1"}}, emulator)[0];
  EXPECT_EQ(alone.exitCode, 3);
  EXPECT_THAT(alone.output,
              AllOf(HasSubstr("the launcher of rank 0 cannot be reached at 127.0.0.1:"),
                    HasSubstr(" in 1 s: Connection refused; MASTER_ADDR and MASTER_PORT say where it is")));
}

TEST(Cluster, WhatIsNotTheSameEverywhere) {
  ToyRun toy;
  expectOneMessage(toy.runParts(eachRank("--steps=2 --seed=3", "--steps=2 --seed=4"), emulator), 3,
                   " was started with other flags than rank 0; give all the same");
  std::vector<ToyRun::Part> parts = eachRank("--steps=2");
  parts[3] = parts[2];
  std::vector<CommandResult> results = toy.runParts(parts, emulator);
  EXPECT_EQ(results[0].exitCode, 3);
  EXPECT_THAT(results[0].output,
              AllOf(HasSubstr("the launcher of ranks 2 on "), HasSubstr(" have ranks in common; each is "
                                                                        "to be started once")));
}

TEST(Cluster, StrangersAtThePortAreIgnored) {
  ToyRun toy;
  std::vector<ToyRun::Part> parts = eachRank("--steps=2 --seed=3");
  // Rank 7 knocks with another language first.
  parts[7].environment +=
      "bash -c 'until echo GET / > /dev/tcp/127.0.0.1/$MASTER_PORT; do sleep 0.1; done 2>/dev/null; exec \"$@\"' _ ";
  for (const CommandResult &result : toy.runParts(parts, emulator))
    EXPECT_EQ(result.exitCode, 0) << result.output;
}

TEST(Cluster, TwoRanksOnOneDevice) {
  ToyRun toy;
  std::vector<ToyRun::Part> parts = eachRank("--steps=2");
  parts[6].environment = "RANK=6 WORLD_SIZE=8 LOCAL_RANK=1 ";
  std::vector<CommandResult> results = toy.runParts(parts, emulator);
  expectOneMessage(results, 3, "ranks 1 and 6 have both taken device 0000:01:00.0 of ");
  EXPECT_THAT(results[0].output,
              HasSubstr(", and NCCL takes one rank for a device; start as many ranks there as it has devices, with "
                        "LOCAL_RANK from 0 or one device in CUDA_VISIBLE_DEVICES of each"));
}

TEST(Cluster, DevicesWithoutDirectAccess) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=1 --seed=3", emulator + "P3D_EMULATOR_PEER_ACCESS=0 ");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("p3d-run: remark: the device of rank 0 has no direct access to those of ranks 1 (tp); what "
                        "they exchange goes through the host's memory"));
}

TEST(Cluster, WhatPartsCannotDo) {
  ToyRun toy;
  CommandResult result = toy.runParts({{torchrun(0), "--verify"}}, emulator)[0];
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("--verify compares on one machine: start all ranks here with p3d-run "));
  result = toy.runParts({{torchrun(0), "--steps=1 --trace=" + toy.path("t.json")}}, emulator)[0];
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("--trace shows the ranks of one p3d-run: start all ranks here with p3d-run "));
  result = toy.runParts({{torchrun(0), "--steps=1 --threads=2"}}, emulator)[0];
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("--threads is not supported with --target=cuda: a GPU has threads of its own"));
  result = toy.runParts({{torchrun(0), "--steps=1 --ranks-per-host=2"}}, emulator)[0];
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("--ranks-per-host=2 is for p3d-run; bin/rank is one rank"));
}

/// A root that knows of a file which is not there.
TEST(Cluster, AFileThatOnlyTheRootHas) {
  int port = freePort();
  FileDescriptor listening = listenAt(port);
  auto root = std::async(std::launch::async, [&] {
    pollfd socket{listening.get(), POLLIN, 0};
    poll(&socket, 1, 30'000);
    Link link(acceptFrom(listening.get()));
    WelcomeMessage welcome{};
    strcpy(welcome.exportFile, "/nowhere/weights.1.tmp");
    link.send(welcome);
    sleep(3);
  });
  ToyRun toy;
  CommandResult result =
      runCommand(emulator + torchrun(1) + "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port) + " " +
                 toy.path("bin/rank") + " --steps=1 --data=" + toy.path("batch.safetensors"));
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output,
              HasSubstr("/nowhere/weights.1.tmp: cannot be opened as rank 0 does: No such file or directory"));
}

} // namespace
