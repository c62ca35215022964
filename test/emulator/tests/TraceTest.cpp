// The trace: a line for each command, from which counts, bytes and overlap are read.
#include "test/emulator/tests/Ranks.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

/// Two host functions, each of which ends once both have begun.
struct Meeting {
  Gate first, second;
  static void inFirst(void *meeting) { meet(meeting, &Meeting::first, &Meeting::second); }
  static void inSecond(void *meeting) { meet(meeting, &Meeting::second, &Meeting::first); }

private:
  static void meet(void *meeting, Gate Meeting::*mine, Gate Meeting::*other) {
    auto *self = static_cast<Meeting *>(meeting);
    (self->*mine).open();
    Gate::wait(&(self->*other));
  }
};

SCENARIO(traced) {
  Device device;
  Nccl nccl;
  ncclComm_t comm;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = "dp";
  MUST(nccl, ncclCommInitRankConfig(&comm, rank.ranks, rank.id, rank.rank, &config));
  CUstream first = device.stream(), second = device.stream();
  CUdeviceptr x = device.allocate(256), y = device.allocate(256);
  MUST(device, cuMemsetD8Async(x, 0, 256, first));
  MUST(device, cuMemsetD8Async(y, 0, 256, second));
  Meeting meeting;
  MUST(device, cuLaunchHostFunc(first, Meeting::inFirst, &meeting));
  MUST(device, cuLaunchHostFunc(second, Meeting::inSecond, &meeting));
  auto *data = reinterpret_cast<float *>(x);
  auto stream = reinterpret_cast<cudaStream_t>(first);
  MUST(nccl, ncclAllReduce(data, data, 64, ncclFloat32, ncclSum, comm, stream));
  MUST(nccl, ncclGroupStart());
  MUST(nccl, ncclSend(data, 8, ncclFloat32, 1 - rank.rank, comm, stream));
  MUST(nccl, ncclRecv(data + 32, 8, ncclFloat32, 1 - rank.rank, comm, stream));
  MUST(nccl, ncclGroupEnd());
  MUST(device, cuStreamSynchronize(first));
  MUST(device, cuStreamSynchronize(second));
  MUST(nccl, ncclCommDestroy(comm));
}

TEST(Trace, HasEveryCommand) {
  std::string file = testing::TempDir() + "/p3d-emulator-trace-" + std::to_string(getpid());
  for (const RankResult &result : runRanks("traced", 2, {{"P3D_EMULATOR_TRACE", file}}))
    EXPECT_EQ(result.code, 0) << result.text;
  std::ifstream stream(file);
  std::map<std::string, std::vector<nlohmann::json>> byCommand; // of rank 1
  for (std::string line; std::getline(stream, line);) {
    nlohmann::json entry = nlohmann::json::parse(line);
    EXPECT_LE(entry["start"], entry["end"]);
    if (entry["rank"] == 1)
      byCommand[entry["command"]].push_back(entry);
  }
  unlink(file.c_str());
  auto &reduce = byCommand["allReduce 64 float32 sum on dp"], &send = byCommand["send 8 float32 to 0 on dp"];
  ASSERT_EQ(reduce.size(), 1u);
  EXPECT_EQ(reduce[0]["kind"], "collective");
  EXPECT_EQ(reduce[0]["bytes"], 256);
  ASSERT_EQ(send.size(), 1u);
  EXPECT_EQ(send[0]["kind"], "transfer");
  EXPECT_EQ(send[0]["bytes"], 32);
  EXPECT_EQ(byCommand["receive 8 float32 from 0 on dp"].size(), 1u);
  auto &slow = byCommand["host function"];
  ASSERT_EQ(slow.size(), 2u);
  EXPECT_NE(slow[0]["stream"], slow[1]["stream"]);
  EXPECT_LT(std::max(slow[0]["start"], slow[1]["start"]), std::min(slow[0]["end"], slow[1]["end"])) << "they overlap";
}

int main(int argc, char **argv) { return mainOfRanks(argc, argv); }
