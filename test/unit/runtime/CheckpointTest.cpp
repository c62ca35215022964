// Checkpoints of the toy: what they hold, who reads them, and what is said where they cannot be made or read.
#include "test/unit/runtime/ToyRun.h"
#include "runtime/tools/p3d-run/CheckpointState.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fs = std::filesystem;
using namespace p3d;
using namespace p3d::test;
using testing::HasSubstr;

namespace {

std::string readText(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Checkpoint : public testing::Test {
protected:
  ToyRun toy;
  std::string save = toy.path("save");

  void train(const std::string &flags) {
    CommandResult result = toy.run(flags);
    ASSERT_EQ(result.exitCode, 0) << result.output;
  }
  void expectRefusal(const std::string &flags, const std::string &message, const std::string &environment = "", int exitCode = 1) {
    CommandResult result = toy.run(flags, environment);
    EXPECT_EQ(result.exitCode, exitCode) << result.output;
    EXPECT_THAT(result.output, HasSubstr("error: " + message));
  }
  std::string file(const std::string &name) { return save + "/step_2/" + name; }
  /// Changes a character of `name` behind `text`.
  void change(const std::string &name, const std::string &text, size_t behind) {
    std::string whole = readText(file(name));
    size_t at = whole.find(text);
    ASSERT_NE(at, std::string::npos);
    whole[at + text.size() + behind] ^= 1;
    std::ofstream(file(name)) << whole;
  }
  /// Whoever resumes says `message` of what change() does; then all is as before.
  void damaged(const std::string &name, const std::string &text, size_t behind, const std::string &message) {
    fs::copy(file(name), toy.path("sound"));
    change(name, text, behind);
    CommandResult result = toy.run("--steps=4 --resume=" + save);
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_THAT(result.output, testing::ContainsRegex(message));
    fs::rename(toy.path("sound"), file(name));
  }
};

TEST_F(Checkpoint, GoesOnWithTheSameBits) {
  train("--steps=6 --lr-schedule=cosine --export=" + toy.path("whole"));
  train("--steps=6 --lr-schedule=cosine --save-every=2 --keep-last=2 --save=" + save);
  EXPECT_FALSE(fs::exists(save + "/step_2"));
  EXPECT_TRUE(fs::exists(save + "/step_4"));
  EXPECT_EQ(readText(save + "/latest"), "step_6\n");
  CommandResult result = toy.run("--steps=6 --lr-schedule=cosine --log=" + toy.path("log") + " --export=" + toy.path("rest") + " --resume=" + save + "/step_4");
  EXPECT_THAT(result.output, HasSubstr("resumed from " + save + "/step_4, step 4\nstep 5/6  loss"));
  EXPECT_EQ(readText(toy.path("rest")), readText(toy.path("whole")));
  EXPECT_THAT(readText(toy.path("log")), testing::StartsWith("{\"step\":5,"));
}

TEST_F(Checkpoint, LargeOnesAreSeveralFiles) {
  train("--steps=4 --export=" + toy.path("whole"));
  train("--steps=2 --shard-size=100B --save=" + save);
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(save + "/step_2"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  // Three tensors of more than half the size each, then their moments.
  EXPECT_THAT(names, testing::Contains("params-00001-of-00003.safetensors"));
  EXPECT_THAT(names, testing::Contains("params.safetensors.index.json"));
  EXPECT_THAT(names, testing::Contains("optimizer.safetensors.index.json"));
  EXPECT_THAT(names, testing::Not(testing::Contains("params.safetensors")));
  std::string rest = "--steps=4 --export=" + toy.path("rest") + " --resume=" + save;
  train(rest);
  EXPECT_EQ(readText(toy.path("rest")), readText(toy.path("whole")));
  train("--steps=2 --params=" + save + "/step_2/params.safetensors");
  std::string shard = "params-00003-of-00003.safetensors", sums = "has the checksum [0-9a-f]+, state.json says [0-9a-f]+; the checkpoint is damaged";
  damaged("params.safetensors.index.json", "total_siz", 0, "step_2/params.safetensors.index.json: the index, bytes 0 to [0-9]+, " + sums);
  damaged(shard, "params.", 0, "step_2/params.safetensors.index.json: tensor params.[a-z.]+ is not in " + shard + ", where the index puts it");
  damaged(shard, "}}", 20, "step_2/" + shard + ": tensor params.[a-z.]+, bytes [0-9]+ to [0-9]+, " + sums);
  fs::remove(file(shard));
  expectRefusal(rest, save + "/step_2/" + shard + ": cannot be opened: No such file or directory");
}

TEST_F(Checkpoint, TheLogHasEachStepOnce) {
  train("--steps=4 --log=" + toy.path("whole"));
  train("--steps=4 --save-every=2 --save=" + save + " --log=" + toy.path("log"));
  std::ofstream(toy.path("log"), std::ios::app) << "{\"step\":5,\"los"; // as a killed run leaves it
  train("--steps=5 --save=" + save + " --log=" + toy.path("log") + " --resume=" + save + "/step_2");
  std::ifstream log(toy.path("log"));
  int step = 0;
  for (std::string line; std::getline(log, line);)
    EXPECT_EQ(nlohmann::json::parse(line).at("step"), ++step);
  EXPECT_EQ(step, 5);
}

TEST_F(Checkpoint, ReplacesOneOfTheSameStepAndRemovesWhatWasNotCompleted) {
  train("--steps=2 --save=" + save);
  fs::create_directory(save + "/.step_7.tmp");
  train("--steps=2 --seed=1 --save=" + save);
  EXPECT_EQ(checkCheckpoint(save + "/step_2").seed, 1u);
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(save))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("latest", "step_2"));
}

TEST_F(Checkpoint, FlagsThatDoNotGoTogether) {
  train("--steps=2 --save=" + save);
  expectRefusal("--steps=1 --save-every=2", "--save-every needs --save=DIR");
  expectRefusal("--steps=1 --keep-last=2", "--keep-last needs --save=DIR");
  expectRefusal("--steps=1 --shard-size=1GiB", "--shard-size needs --save=DIR");
  expectRefusal("--steps=1 --shard-size=0 --save=" + save, "--shard-size=0: expected a size such as 5GiB");
  expectRefusal("--steps=1 --elastic=restart", "--elastic needs --save=DIR");
  expectRefusal("--steps=1 --elastic=grow", "--elastic=grow: expected restart");
  expectRefusal("--steps=4 --params=x --resume=" + save, "--params and --resume both say where to start; give one of them");
  expectRefusal("--steps=2 --resume=" + save, save + "/step_2: is of step 2, and --steps=2 asks for none behind it; --steps is the number of the last step");
  expectRefusal("--steps=3 --seed=5 --resume=" + save, save + "/step_2: was trained with --seed=0, not 5; leave --seed out");
}

TEST_F(Checkpoint, PlacesThatHoldNone) {
  train("--steps=2 --save=" + save);
  expectRefusal("--steps=4 --resume=" + toy.path("none"),
                "--resume=" + toy.path("none") + ": holds neither state.json nor latest; expected a directory that --save made, or a step_<N> of one");
  std::ofstream(save + "/latest") << "step_9\n";
  expectRefusal("--steps=4 --resume=" + save, save + "/latest: names \"step_9\", which is no checkpoint in this directory; name one with --resume=" + save + "/step_<N>");
  expectRefusal("--steps=2 --save=/proc/none", "--save=/proc/none: cannot be made: ");
}

TEST_F(Checkpoint, DamageIsFound) {
  train("--steps=2 --save=" + save);
  std::string sums = "has the checksum [0-9a-f]+, state.json says [0-9a-f]+; the checkpoint is damaged";
  damaged("params.safetensors", "params.", 0, "step_2/params.safetensors: the header, bytes 0 to [0-9]+, " + sums);
  damaged("optimizer.safetensors", "}}", 20, "step_2/optimizer.safetensors: tensor [mv][.a-z0-9]+, bytes [0-9]+ to [0-9]+, " + sums);
  damaged("state.json", "\"step\": ", 0,
          "step_2/state.json: field \"checksum\" is [0-9a-f]+, of the other fields it is [0-9a-f]+; the file was changed or is damaged");
  damaged("state.json", "\"files\"", 0, "step_2/state.json: is not JSON at offset [0-9]+; the checkpoint is damaged");
  damaged("state.json", "\"checksu", 0, "step_2/state.json: field \"checksum\" is missing or no text; the checkpoint is damaged");
}

TEST_F(Checkpoint, OfAnotherKind) {
  train("--steps=2 --save=" + save);
  auto sign = [&](auto edit) {
    nlohmann::json state = nlohmann::json::parse(readText(file("state.json")));
    edit(state);
    std::ofstream(file("state.json")) << state;
    // The message says which checksum it ought to be.
    std::string output = toy.run("--steps=4 --resume=" + save).output, before = "of the other fields it is ";
    state["checksum"] = output.substr(output.find(before) + before.size(), 16);
    std::ofstream(file("state.json")) << state;
  };
  sign([](nlohmann::json &state) { state["optimizer"] = "sgd"; });
  expectRefusal("--steps=4 --resume=" + save, save + "/step_2: has the state of sgd, the program was compiled with --optimizer=adamw; compile it with "
                                                     "--optimizer=sgd, or start from its weights with --params=" +
                                                  save + "/step_2/params.safetensors");
  sign([](nlohmann::json &state) { state["version"] = 9; });
  expectRefusal("--steps=4 --resume=" + save, save + "/step_2/state.json: field \"version\" is 9, expected 1; another p3d-run wrote it");
}

TEST_F(Checkpoint, AFullDiskLeavesTheLastOne) {
  std::string disk = toy.path("disk");
  std::string command = onFullDisk(disk, P3D_BIN "/p3d-run " + toy.path("") + " --steps=3 --save-every=2 --data=" + toy.path("batch.safetensors") +
                                             " --save=" + disk + "; echo code $?; ls -A " + disk);
  if (command.empty())
    GTEST_SKIP() << "no file system may be mounted here";
  std::string output = runCommand(command).output;
  EXPECT_THAT(output, testing::ContainsRegex("p3d-run: warning: no checkpoint of step 2: .*disk/.step_2.tmp/.*: cannot be written: No space left on device\n"));
  EXPECT_THAT(output, HasSubstr("step 3/3"));
  EXPECT_THAT(output, HasSubstr("p3d-run: error: --save=" + disk + ": the state after the last step was not saved\ncode 1\nfull\n"));
}

TEST_F(Checkpoint, RestartsAfterAFailure) {
  CommandResult result = toy.run("--steps=5 --elastic=restart --save=" + save, "TOY_CRASH=3");
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(result.output, HasSubstr("p3d-run: starting again from the beginning\n"));
  EXPECT_THAT(result.output, HasSubstr("p3d-run: error: 3 runs have failed without a new checkpoint; not started again\n"));
}

} // namespace
