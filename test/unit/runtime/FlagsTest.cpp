// --help and the parser hold the same flags, and each flag that is accepted
// does something.
#include "test/unit/runtime/ToyRun.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <regex>

using namespace p3d;
using namespace p3d::test;
using testing::HasSubstr;

namespace {

/// Name and value of each flag that `tool --help` lists.
std::map<std::string, std::string> flagsOf(const std::string &tool) {
  CommandResult help = runCommand(std::string(P3D_BIN) + "/" + tool + " --help");
  EXPECT_EQ(help.exitCode, 0);
  std::map<std::string, std::string> found;
  static const std::regex line("\n  --([a-z-]+)=(\\S+)\n");
  for (std::sregex_iterator at(help.output.begin(), help.output.end(), line),
       end;
       at != end; ++at)
    found[(*at)[1]] = (*at)[2];
  return found;
}

/// The parameters after three steps with `flags`.
Tensors train(const ToyRun &toy, const std::string &flags) {
  std::string file = toy.path("end.safetensors");
  CommandResult result = toy.run("--steps=3 --export=" + file + " " + flags);
  EXPECT_EQ(result.exitCode, 0) << flags << result.output;
  return readTensors(file);
}

TEST(Flags, TheParserKnowsWhatHelpLists) {
  ToyRun toy;
  std::map<std::string, std::string> flags = flagsOf("p3d-run");
  EXPECT_GE(flags.size(), 17u);
  for (const auto &[name, value] : flags)
    EXPECT_THAT(toy.run("--" + name).output,
                HasSubstr("--" + name + " needs a value: --" + name + "=" +
                          value));
  for (const auto &[name, value] : flagsOf("p3d-diff"))
    EXPECT_THAT(
        runCommand(std::string(P3D_BIN) + "/p3d-diff --" + name).output,
        HasSubstr("--" + name + ": expected a number"));
}

TEST(Flags, EachDoesSomething) {
  ToyRun toy;
  // Flags that change what is trained, against a run without them ...
  std::map<std::string, std::string> training = {
      {"lr", "0.1"},
      {"lr-schedule", "cosine"},
      {"warmup", "3"},
      {"min-lr", "0.0009 --lr-schedule=linear"},
      {"betas", "0.5,0.5"},
      {"eps", "1"},
      {"weight-decay", "9"},
      {"clip", "0.001 --eps=0.1"},
      {"seed", "1"},
      {"params", toy.path("start.safetensors")},
      {"init", toy.path("init.json")},
  };
  // ... flags that write a file, and those that other tests show.
  std::map<std::string, std::string> files = {{"log", "l.jsonl"},
                                              {"export", "e.safetensors"},
                                              {"dump-grads", "g.safetensors"},
                                              {"trace", "t.json"}};
  std::map<std::string, std::string> elsewhere = {
      {"steps", "Launcher.MatchesOneDevice counts them in the log"},
      {"data", "every run of the toy reads its batch by it"},
      {"cuda-graph", "CudaLauncher.AGraphReplaysTheSame"},
      {"deterministic", "numerics.deterministic"},
      {"data-type", "Tokens.SixteenBitsAndHeaders"},
      {"data-map", "Tokens.AMapSaysWhatFillsInputs"},
      {"data-order", "Tokens.EachEpochDrawsEveryWindowOnce"},
      {"eval-data", "driver/data.test"},
      {"eval-every", "driver/data.test"},
      {"save", "Checkpoint.GoesOnWithTheSameBits"},
      {"save-every", "Checkpoint.GoesOnWithTheSameBits"},
      {"keep-last", "Checkpoint.GoesOnWithTheSameBits"},
      {"shard-size", "Checkpoint.LargeOnesAreSeveralFiles"},
      {"resume", "Checkpoint.GoesOnWithTheSameBits"},
      {"elastic", "Checkpoint.RestartsAfterAFailure"},
      {"loss-scale", "numerics.loss_scale"},
      {"momentum", "refused here: the toy is compiled with AdamW"},
      {"ranks-per-host", "Cluster.HostByHostGivesTheSame"},
      {"threads", "driver/threads.test"},
      {"timeout", "Launcher.ReportsAHangingRank"}};
  std::ofstream(toy.path("init.json"))
      << R"([{"pattern": "params\\.[ab]", "kind": "normal", "std": 0.1}])";
  Tensors plain = train(toy, "");
  ASSERT_EQ(toy.run("--steps=5 --seed=9 --export=" +
                    toy.path("start.safetensors"))
                .exitCode,
            0);
  for (const auto &[name, value] : training)
    EXPECT_NE(train(toy, "--" + name + "=" + value), plain) << name;
  for (const auto &[name, file] : files) {
    EXPECT_EQ(toy.run("--steps=1 --" + name + "=" + toy.path(file)).exitCode,
              0);
    EXPECT_TRUE(std::filesystem::exists(toy.path(file))) << name;
  }
  for (const auto &[name, value] : flagsOf("p3d-run"))
    EXPECT_EQ(training.count(name) + files.count(name) + elsewhere.count(name),
              1u)
        << "no line here shows what --" << name << " does";
}

} // namespace
