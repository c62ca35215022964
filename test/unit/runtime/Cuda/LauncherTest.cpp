// The toy program on emulated devices: numbers against a plain double computation, and what happens when a library, a
// device or a rank is not there.
#include "test/unit/runtime/ToyRun.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>

using namespace p3d::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

const std::string emulator = "LD_LIBRARY_PATH=" P3D_EMULATOR " ";

TEST(CudaLauncher, MatchesOneDevice) { expectOneDevice(ToyRun()); }

TEST(CudaLauncher, DelaysChangeNothing) {
  std::string first;
  for (int seed = 1; seed <= 3; ++seed) {
    ToyRun toy;
    std::string file = toy.path("end.safetensors");
    CommandResult result = toy.run("--steps=2 --seed=3 --deterministic --export=" + file,
                                   emulator + "P3D_EMULATOR_SEED=" + std::to_string(seed));
    ASSERT_EQ(result.exitCode, 0) << result.output;
    std::string hash = runCommand("cksum < " + file).output;
    EXPECT_EQ(hash, first.empty() ? hash : first);
    first = hash;
  }
}

/// "launches" of the log's lines.
std::vector<nlohmann::json> launchesIn(const std::string &log) {
  std::vector<nlohmann::json> launches;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    launches.push_back(nlohmann::json::parse(line).at("launches"));
  return launches;
}

TEST(CudaLauncher, AGraphReplaysTheSame) {
  std::string files[2];
  std::vector<nlohmann::json> launches[2];
  for (int isGraph = 0; isGraph < 2; ++isGraph) {
    ToyRun toy;
    std::string file = toy.path("end.safetensors");
    CommandResult result =
        toy.run("--steps=4 --seed=3 --export=" + file + " --log=" + toy.path("log") + (isGraph ? " --cuda-graph" : ""),
                emulator);
    ASSERT_EQ(result.exitCode, 0) << result.output;
    files[isGraph] = runCommand("cksum < " + file).output;
    launches[isGraph] = launchesIn(toy.path("log"));
  }
  EXPECT_EQ(files[0], files[1]);
  ASSERT_EQ(launches[0].size(), 4u);
  for (int step = 0; step < 4; ++step) {
    EXPECT_GT(launches[0][step]["kernels"], 0);
    EXPECT_GT(launches[0][step]["products"], 0);
    EXPECT_GT(launches[0][step]["collectives"], 0);
    EXPECT_EQ(launches[0][step]["graphs"], 0);
    launches[0][step]["graphs"] = int(step > 0); // the first step prepares
    EXPECT_EQ(launches[0][step], launches[1][step]);
  }
}

TEST(CudaLauncher, AGraphThatHangs) {
  ToyRun toy; // rank 3 does not take part in the second step's sum
  CommandResult result = toy.run("--steps=3 --seed=3 --cuda-graph --timeout=2", emulator + "TOY_REDUCE=4");
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(result.output,
              HasSubstr(" waited 2 s at step 2 for the graph of the whole step; without --cuda-graph the "
                        "operation is named"));
}

/// Runs two steps of the toy and expects an end by a rank's failure with this text.
void expectFailure(const std::string &environment, const testing::Matcher<const std::string &> &text,
                   const std::string &flags = "") {
  ToyRun toy;
  CommandResult result = toy.run("--steps=2 --seed=3 " + flags, emulator + environment);
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(result.output, text);
}

TEST(CudaLauncher, WhatTheMachineLacks) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=1", "LD_LIBRARY_PATH=/nowhere");
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("gave up at step 0, operation \"start of the device\": libcuda.so.1 cannot be opened: "),
                    HasSubstr("it comes with the NVIDIA driver, which a program for --target=cuda needs")));
  expectFailure("P3D_EMULATOR_DEVICES=0",
                HasSubstr("this machine has no CUDA device, or CUDA_VISIBLE_DEVICES hides it"));
  expectFailure(
      "P3D_EMULATOR_DEVICES=7",
      HasSubstr("rank 7 gave up at step 0, operation \"start of the device\": local rank 7 needs a device of its "
                "own, and this machine shows 7; start fewer ranks here"));
  expectFailure(
      "P3D_EMULATOR_MEMORY=256",
      HasSubstr("the device has too little memory: 0.000 GiB for its arena, and 0.000 of 0.000 GiB are free"));
}

/// The emulator's libraries but one, in whose place is `other`, or a file that is no library: this machine may have the
/// real one.
class LibrariesBut {
public:
  LibrariesBut(const std::string &library, const std::string &other = "") : directory(makeDirectory()) {
    for (std::string name : {"libcuda.so.1", "libnccl.so.2", "libcublasLt.so.13"}) {
      std::string source = name != library ? P3D_EMULATOR "/" + name : other;
      if (source.empty())
        std::ofstream(directory + "/" + name) << "no library";
      else
        std::filesystem::create_symlink(source, directory + "/" + name);
    }
  }
  ~LibrariesBut() { std::filesystem::remove_all(directory); }
  std::string environment() const { return "LD_LIBRARY_PATH=" + directory; }

private:
  static std::string makeDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "p3d-libraries-XXXXXX").string();
    return mkdtemp(name.data());
  }
  std::string directory;
};

TEST(CudaLauncher, LibrariesThatAreMissing) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=1", LibrariesBut("libnccl.so.2").environment());
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(result.output, AllOf(HasSubstr("operation \"making of communicators\": libnccl.so.2 cannot be opened: "),
                                   HasSubstr("; a program of several ranks for --target=cuda needs NCCL")));
  result = toy.run("--steps=1", LibrariesBut("libcublasLt.so.13").environment());
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(result.output, HasSubstr("; it comes with the CUDA 13 toolkit; programs for --target=cuda need it for "
                                       "matrix products"));
  result = toy.run("--steps=1", LibrariesBut("libnccl.so.2", P3D_EMPTY_LIBRARY).environment());
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(result.output, HasSubstr("libnccl.so.2 has no ncclGetUniqueId: it is too old for this program"));
}

TEST(CudaLauncher, ARankThatHangs) {
  expectFailure("TOY_HANG=1",
                HasSubstr("rank 1 holds up the others: rank 1 is at step 2 in task forward, microbatch 0"),
                "--timeout=2");
}

TEST(CudaLauncher, ARankThatDies) {
  expectFailure("TOY_CRASH=1", HasSubstr("rank 1 was killed by signal 6 (Aborted), at step 2 in task forward"));
}

TEST(CudaLauncher, AKernelThatNobodyHas) {
  ToyRun toy;
  CommandResult result = toy.run("--steps=1", emulator + "TOY_FAULT=1");
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.output, HasSubstr("no image in this executable has the kernel toy_nobody"));
}

} // namespace
