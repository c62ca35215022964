// The stand-in for NCCL: results between processes, and each fault of communication, seeded.
#include "test/emulator/tests/Ranks.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

static constexpr int faultCode = 97;
static constexpr int count = 100003; // more than one chunk, and not a multiple of the ranks

/// Everything a scenario needs; released in order.
struct Communicating : Device, Nccl {
  using Device::must;
  using Nccl::must;
  ncclComm_t comm = nullptr;
  CUstream work = stream();
  explicit Communicating(RankContext &rank) { MUST(*this, ncclCommInitRank(&comm, rank.ranks, rank.id, rank.rank)); }
  ~Communicating() {
    MUST(*this, cuStreamSynchronize(work));
    if (comm)
      MUST(*this, ncclCommDestroy(comm));
  }
  cudaStream_t on(CUstream stream) { return reinterpret_cast<cudaStream_t>(stream); }
  float *floats(CUdeviceptr address) { return reinterpret_cast<float *>(address); }
  CUdeviceptr upload(const std::vector<float> &values) {
    CUdeviceptr to = allocate(values.size() * 4);
    float *staged = host<float>(values.size());
    memcpy(staged, values.data(), values.size() * 4);
    MUST(*this, cuMemcpyHtoDAsync(to, staged, values.size() * 4, work));
    return to;
  }
  void expect(CUdeviceptr address, size_t size, float (*value)(int, const RankContext &), const RankContext &rank) {
    std::vector<float> values = read(address, size, work);
    for (size_t i = 0; i < size; ++i)
      if (values[i] != value(int(i), rank)) {
        fprintf(stderr, "element %zu is %g, not %g\n", i, values[i], value(int(i), rank));
        exit(1);
      }
  }
};

static std::vector<float> pattern(int rank, int size) {
  std::vector<float> values(size);
  for (int i = 0; i < size; ++i)
    values[i] = float(rank + 1) + float(i % 101) * 0.125f;
  return values;
}

static void expectAll(const std::vector<RankResult> &results, int code) {
  for (size_t rank = 0; rank < results.size(); ++rank)
    EXPECT_EQ(results[rank].code, code) << "rank " << rank << ": " << results[rank].text;
}

SCENARIO(collectives) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(pattern(rank.rank, count)), all = c.allocate(size_t(count) * rank.ranks * 4);
  MUST(c, ncclAllReduce(c.floats(x), c.floats(x), count, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
  c.expect(
      x, count, [](int i, const RankContext &r) { return r.ranks * (r.ranks + 1) / 2 + r.ranks * (i % 101) * 0.125f; },
      rank);
  CUdeviceptr y = c.upload(pattern(rank.rank, count));
  MUST(c, ncclAllGather(c.floats(y), c.floats(all), count, ncclFloat32, c.comm, c.on(c.work)));
  c.expect(
      all, size_t(count) * rank.ranks,
      [](int i, const RankContext &) { return float(i / count + 1) + float(i % count % 101) * 0.125f; }, rank);
  MUST(c, ncclReduceScatter(c.floats(all), c.floats(y), count, ncclFloat32, ncclMax, c.comm, c.on(c.work)));
  c.expect(
      y, count, [](int i, const RankContext &r) { return float(r.rank + 1) + float(i % 101) * 0.125f; }, rank);
  MUST(c, ncclBroadcast(c.floats(y), c.floats(y), count, ncclFloat32, rank.ranks - 1, c.comm, c.on(c.work)));
  c.expect(
      y, count, [](int i, const RankContext &r) { return float(r.ranks) + float(i % 101) * 0.125f; }, rank);
}

TEST(Nccl, Collectives) {
  for (int ranks : {1, 2, 4})
    expectAll(runRanks("collectives", ranks, {{"P3D_EMULATOR_SEED", "5"}}), 0);
}

/// Sums are in the order of ranks: 1 + 2^-24 + 2^-24 + ... stays 1, in any other order it does not.
SCENARIO(orderOfSums) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(7, rank.rank == 0 ? 1.0f : 0x1p-24f));
  MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 7, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
  c.expect(
      x, 7, [](int, const RankContext &) { return 1.0f; }, rank);
}
TEST(Nccl, SumsInTheOrderOfRanks) { expectAll(runRanks("orderOfSums", 4), 0); }

/// bfloat16 is summed in float and rounded once: 1 + 3 * 2^-9 is nearer to 1 + 2^-7 than to 1.
SCENARIO(halves) {
  Communicating c(rank);
  CUdeviceptr x = c.allocate(64);
  MUST(c, cuMemsetD32Async(x, rank.rank == 0 ? 0x3f803f80 : 0x3b003b00, 16, c.work));
  MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 32, ncclBfloat16, ncclSum, c.comm, c.on(c.work)));
  std::vector<float> values = c.read(x, 16, c.work);
  uint32_t bits;
  memcpy(&bits, &values[15], 4);
  if (bits != 0x3f813f81)
    exit(1);
}
TEST(Nccl, HalvesAreRoundedOnce) { expectAll(runRanks("halves", 4), 0); }

/// A ring in both directions, all in one group, with a message to oneself and an empty one.
SCENARIO(ring) {
  Communicating c(rank);
  int next = (rank.rank + 1) % rank.ranks, previous = (rank.rank + rank.ranks - 1) % rank.ranks;
  CUdeviceptr own = c.upload(pattern(rank.rank, count));
  CUdeviceptr fromPrevious = c.allocate(count * 4), fromNext = c.allocate(count * 4), fromSelf = c.allocate(40);
  for (int round = 0; round < 3; ++round) {
    MUST(c, ncclGroupStart());
    MUST(c, ncclSend(c.floats(own), count, ncclFloat32, next, c.comm, c.on(c.work)));
    MUST(c, ncclSend(c.floats(own), count / 2, ncclFloat32, previous, c.comm, c.on(c.work)));
    MUST(c, ncclRecv(c.floats(fromNext), count / 2, ncclFloat32, next, c.comm, c.on(c.work)));
    MUST(c, ncclRecv(c.floats(fromPrevious), count, ncclFloat32, previous, c.comm, c.on(c.work)));
    MUST(c, ncclSend(c.floats(own), 10, ncclFloat32, rank.rank, c.comm, c.on(c.work)));
    MUST(c, ncclRecv(c.floats(fromSelf), 10, ncclFloat32, rank.rank, c.comm, c.on(c.work)));
    MUST(c, ncclSend(c.floats(own), 0, ncclFloat32, next, c.comm, c.on(c.work)));
    MUST(c, ncclRecv(c.floats(fromPrevious), 0, ncclFloat32, previous, c.comm, c.on(c.work)));
    MUST(c, ncclGroupEnd());
  }
  c.expect(
      fromPrevious, count,
      [](int i, const RankContext &r) { return float((r.rank + r.ranks - 1) % r.ranks + 1) + float(i % 101) * 0.125f; },
      rank);
  c.expect(
      fromNext, count / 2,
      [](int i, const RankContext &r) { return float((r.rank + 1) % r.ranks + 1) + float(i % 101) * 0.125f; }, rank);
  c.expect(
      fromSelf, 10, [](int i, const RankContext &r) { return float(r.rank + 1) + i * 0.125f; }, rank);
}
TEST(Nccl, GroupedTransfers) { expectAll(runRanks("ring", 3, {{"P3D_EMULATOR_SEED", "7"}}), 0); }

/// A captured all-reduce runs at each launch of the graph.
SCENARIO(captured) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(16, 1));
  CUgraph graph;
  CUgraphExec executable;
  MUST(c, cuStreamBeginCapture(c.work, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 16, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
  MUST(c, cuStreamEndCapture(c.work, &graph));
  MUST(c, cuGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i)
    MUST(c, cuGraphLaunch(executable, c.work));
  c.expect(
      x, 16, [](int, const RankContext &r) { return float(r.ranks * r.ranks * r.ranks); }, rank);
  MUST(c, cuGraphExecDestroy(executable));
  MUST(c, cuGraphDestroy(graph));
}
TEST(Nccl, CapturedCollectives) { expectAll(runRanks("captured", 2), 0); }

/// Many ranks on few cores: 32 processes, 50 all-reduces each.
SCENARIO(many) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(256, 0));
  for (int i = 0; i < 50; ++i)
    MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 256, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
  c.expect(
      x, 256, [](int, const RankContext &) { return 0.0f; }, rank);
}
TEST(Nccl, ManyRanks) {
  auto start = std::chrono::steady_clock::now();
  expectAll(runRanks("many", 32), 0);
  printf("32 ranks, 50 all-reduces: %.2f s\n",
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

// --------------------------------------------------------------------------------------------------- faults

SCENARIO(misorderedKinds) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(64, 1));
  if (rank.rank == 1)
    MUST(c, ncclBroadcast(c.floats(x), c.floats(x), 32, ncclFloat32, 0, c.comm, c.on(c.work)));
  MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 64, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
  if (rank.rank == 0)
    MUST(c, ncclBroadcast(c.floats(x), c.floats(x), 32, ncclFloat32, 0, c.comm, c.on(c.work)));
}
TEST(Nccl, ReportsMisorderedCollectives) {
  std::vector<RankResult> results = runRanks("misorderedKinds", 2);
  expectAll(results, faultCode);
  EXPECT_NE(results[0].text.find("rank 0: misordered collectives: collective 1 of communicator "), std::string::npos);
  EXPECT_NE(
      results[0].text.find("is allReduce 64 float32 sum for rank 0 (0 of all), but broadcast 32 float32 root 0 for "
                           "rank 1 (1 of all)"),
      std::string::npos)
      << results[0].text;
}

SCENARIO(mismatchedCounts) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(64, 1));
  MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 32 + rank.rank, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
}
TEST(Nccl, ReportsMismatchedCounts) {
  std::vector<RankResult> results = runRanks("mismatchedCounts", 2);
  expectAll(results, faultCode);
  EXPECT_NE(results[1].text.find(
                "is allReduce 33 float32 sum for rank 1 (1 of all), but allReduce 32 float32 sum for rank 0"),
            std::string::npos)
      << results[1].text;
}

SCENARIO(mismatchedTransfer) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(64, 1));
  if (rank.rank == 0)
    MUST(c, ncclSend(c.floats(x), 64, ncclFloat32, 1, c.comm, c.on(c.work)));
  else
    MUST(c, ncclRecv(c.floats(x), 128, ncclBfloat16, 0, c.comm, c.on(c.work)));
}
TEST(Nccl, ReportsMismatchedTransfers) {
  std::vector<RankResult> results = runRanks("mismatchedTransfer", 2, {{"P3D_EMULATOR_TIMEOUT", "1"}});
  EXPECT_EQ(results[1].code, faultCode);
  EXPECT_NE(results[1].text.find("mismatched transfer in communicator"), std::string::npos);
  EXPECT_NE(results[1].text.find("rank 0 (0 of all) sends 64 float32, rank 1 (1 of all) receives 128 bfloat16"),
            std::string::npos)
      << results[1].text;
}

SCENARIO(missingPeer) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(64, 1));
  if (rank.rank == 1)
    sleep(2);
  else
    MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 64, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
}
TEST(Nccl, ReportsMissingPeers) {
  std::vector<RankResult> results = runRanks("missingPeer", 3, {{"P3D_EMULATOR_TIMEOUT", "1"}});
  EXPECT_EQ(results[0].code, faultCode);
  EXPECT_EQ(results[2].code, faultCode);
  EXPECT_NE(results[0].text.find("waits since 1 s at collective 1, allReduce 64 float32 sum, of communicator"),
            std::string::npos)
      << results[0].text;
  EXPECT_NE(results[0].text.find("there: rank 0 (0 of all), rank 2 (2 of all); missing: rank 1 (1 of all): idle"),
            std::string::npos)
      << results[0].text;
}

SCENARIO(neverArrives) {
  if (rank.rank == 1)
    return;
  Communicating c(rank);
}
TEST(Nccl, ReportsRanksThatNeverArrive) {
  std::vector<RankResult> results = runRanks("neverArrives", 2, {{"P3D_EMULATOR_TIMEOUT", "1"}});
  EXPECT_EQ(results[0].code, faultCode);
  EXPECT_NE(results[0].text.find("at the making of communicator"), std::string::npos) << results[0].text;
  EXPECT_NE(results[0].text.find("missing: rank 1: has not joined"), std::string::npos) << results[0].text;
}

/// Both send first, without a group: each waits for the other to receive.
SCENARIO(crossedSends) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(64, 1)), y = c.allocate(256);
  MUST(c, ncclSend(c.floats(x), 64, ncclFloat32, 1 - rank.rank, c.comm, c.on(c.work)));
  MUST(c, ncclRecv(c.floats(y), 64, ncclFloat32, 1 - rank.rank, c.comm, c.on(c.work)));
}
TEST(Nccl, ReportsCrossedSends) {
  std::vector<RankResult> results = runRanks("crossedSends", 2, {{"P3D_EMULATOR_TIMEOUT", "1"}});
  EXPECT_EQ(results[0].code, faultCode);
  EXPECT_NE(results[0].text.find("at send 64 float32 to 1 of communicator"), std::string::npos) << results[0].text;
  EXPECT_NE(results[0].text.find("missing: rank 1 (1 of all): at send 64 float32 to 0"), std::string::npos)
      << results[0].text;
}

/// A collective is a command like others: what it reads must have been waited for.
SCENARIO(raceWithCollective) {
  Communicating c(rank);
  CUstream other = c.stream();
  CUdeviceptr x = c.allocate(256);
  c.launch(other, "stores", 1, 64, x, 0, 64);
  MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 64, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
  MUST(c, cuStreamSynchronize(other));
}
TEST(Nccl, ReportsRacesOfCollectives) {
  std::vector<RankResult> results = runRanks("raceWithCollective", 2, {{"P3D_EMULATOR_TIMEOUT", "3"}});
  bool isFound = false;
  for (const RankResult &result : results) {
    EXPECT_EQ(result.code, faultCode);
    isFound |= result.text.find("race: ") != std::string::npos &&
               result.text.find("\"allReduce 64 float32 sum on p3d-nccl-") != std::string::npos;
  }
  EXPECT_TRUE(isFound) << results[0].text << results[1].text;
}

/// A peer dies: the error can be asked for, and abort frees whoever waits.
SCENARIO(abortAfterDeath) {
  Communicating c(rank);
  CUdeviceptr x = c.upload(std::vector<float>(64, 1));
  MUST(c, cuStreamSynchronize(c.work));
  if (rank.rank == 1)
    _exit(5);
  MUST(c, ncclAllReduce(c.floats(x), c.floats(x), 64, ncclFloat32, ncclSum, c.comm, c.on(c.work)));
  ncclResult_t error = ncclSuccess;
  while (error == ncclSuccess) {
    MUST(c, ncclCommGetAsyncError(c.comm, &error));
    usleep(10000);
  }
  if (error != ncclRemoteError)
    exit(1);
  MUST(c, ncclCommAbort(c.comm));
  c.comm = nullptr;
}
TEST(Nccl, AbortFreesWhoeverWaits) {
  std::vector<RankResult> results = runRanks("abortAfterDeath", 2);
  EXPECT_EQ(results[0].code, 0) << results[0].text;
  EXPECT_EQ(results[1].code, 5);
}

SCENARIO(leakedCommunicator) {
  auto *c = new Communicating(rank);
  MUST(*c, cuStreamSynchronize(c->work));
  exit(0);
}
TEST(Nccl, ReportsLeakedCommunicators) {
  std::vector<RankResult> results = runRanks("leakedCommunicator", 1);
  EXPECT_EQ(results[0].code, faultCode);
  EXPECT_NE(results[0].text.find("leak: the process ends with 1 stream, 1 communicator"), std::string::npos)
      << results[0].text;
}

/// Nothing of these tests stays behind in /dev/shm: the ids that this process made have its number.
TEST(Nccl, LeavesNoNames) {
  std::string own = "p3d-nccl-" + std::to_string(getpid()) + "-";
  EXPECT_NE(system(("ls /dev/shm | grep -q '^" + own + "'").c_str()), 0);
}

int main(int argc, char **argv) { return mainOfRanks(argc, argv); }
