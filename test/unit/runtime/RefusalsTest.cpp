// What p3d-run refuses: each message whole, with its exit code, before a rank
// starts wherever that can be known, and without a file left behind. Rank
// executables that p3dc would not make are shell scripts here.
#include "test/unit/runtime/ToyRun.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace p3d;
using namespace p3d::test;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A build directory of one rank whose executable is a script.
class ScriptRun : public ToyRun {
public:
  explicit ScriptRun(const json &program,
                     const std::string &asRank = "exit 0") {
    std::ofstream(path("manifest.json")) << R"({"ranks":[{}]})";
    std::ofstream(path("program.json")) << program;
    setProgram(0, "if [ \"$1\" = --describe ]; then cat " +
                      path("program.json") + "; else " + asRank + "; fi");
  }
};

/// A program without parameters, inputs and tasks.
json emptyProgram() {
  return json::parse(R"({"version":1,"stage":0,"stages":1,
    "mesh":{"tp":1,"pp":1,"dp":1},"microbatches":1,"global_batch":1,
    "arena_bytes":64,"optimizer":"none","params":[],"inputs":[],"results":[],
    "tasks":[],"operations":[],"order":[]})");
}

json weight() {
  return json::parse(R"({"name":"params.w","role":"param","dtype":"f32",
    "global_shape":[4],"offset":0,"init":{"kind":"zeros"}})");
}

void expectRefusal(const ToyRun &toy, const std::string &flags,
                   const std::string &message,
                   const std::string &environment = "", int exitCode = 1) {
  std::vector<std::string> before = toy.files();
  CommandResult result = toy.run(flags, environment);
  EXPECT_EQ(result.exitCode, exitCode) << flags;
  EXPECT_THAT(result.output, HasSubstr("p3d-run: error: "));
  EXPECT_THAT(result.output, HasSubstr(message)) << flags;
  EXPECT_THAT(result.output, Not(HasSubstr("step 1/"))) << flags;
  EXPECT_EQ(toy.files(), before) << flags;
}

TEST(Refusals, CommandLines) {
  ToyRun toy;
  expectRefusal(toy, "", "--steps=N is missing");
  expectRefusal(toy, "--steps=3 --lrr=1",
                "unknown flag --lrr; did you mean --lr? (--help lists all)");
  expectRefusal(toy, "--steps", "--steps needs a value: --steps=N");
  expectRefusal(toy, "--steps=0",
                "--steps=0: expected a whole number from 1 to 4294967295");
  expectRefusal(toy, "--steps=3x",
                "--steps=3x: expected a whole number from 1 to 4294967295");
  expectRefusal(toy, "--steps=3 --lr=-1",
                "--lr=-1: expected a number from 0 to 1e+30");
  expectRefusal(toy, "--steps=3 --lr=nan",
                "--lr=nan: expected a number from 0 to 1e+30");
  expectRefusal(toy, "--steps=3 --betas=0.9",
                "--betas=0.9: expected two numbers, as 0.9,0.95");
  expectRefusal(toy, "--steps=3 --betas=0.9,2",
                "--betas=2: expected a number from 0 to 1");
  expectRefusal(toy, "--steps=3 --lr-schedule=step",
                "--lr-schedule=step: expected constant|cosine|linear|wsd");
  expectRefusal(toy, "--steps=3 --cuda-graph",
                "--cuda-graph has no effect: the program was compiled with "
                "--target=cpu");
  expectRefusal(toy, "--steps=3 --deterministic",
                "--deterministic has no effect: the program was compiled with "
                "--target=cpu");
  expectRefusal(toy, "--steps=3 --momentum=0.9",
                "--momentum has no effect: the program was compiled with "
                "--optimizer=adamw");
  expectRefusal(toy, "--steps=3 --loss-scale=1024",
                "--loss-scale has no effect: the program computes nothing in f16, "
                "and the range of its gradients needs no scale; leave it out");
  expectRefusal(toy, "--steps=3 --loss-scale=0.5",
                "--loss-scale=0.5: expected a number from 1 to 1e+30");
  expectRefusal(toy, "--steps=3 --min-lr=0.0001",
                "--min-lr has no effect with --lr-schedule=constant");
  expectRefusal(toy, "--steps=3 --lr-schedule=cosine --min-lr=1",
                "--min-lr=1 is above the learning rate 0.001");
  expectRefusal(toy, "--steps=3 --steps=4", "--steps is given twice");
  expectRefusal(toy, "--steps=3 --params=", "--params= needs a file name");
  expectRefusal(toy, "--steps=3 extra",
                "unexpected argument \"extra\"; usage: p3d-run DIR --steps=N");
  CommandResult result = runCommand(std::string(P3D_BIN) + "/p3d-run");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_EQ(result.output, "p3d-run: error: which program? usage: p3d-run DIR "
                           "--steps=N\n");
}

TEST(Refusals, RulesOfInitialisation) {
  ToyRun toy;
  std::string file = toy.path("init.json");
  auto refuses = [&](const std::string &text, const std::string &expected) {
    std::ofstream(file) << text;
    expectRefusal(toy, "--steps=3 --init=" + file, expected);
  };
  refuses("[{]", file + ": rules are not JSON at offset 3");
  refuses("{}", file + ": expected a list of rules, [{\"pattern\": \".*weight\", \"kind\": \"normal\", \"std\": 0.02}, ...]");
  refuses(R"([{"kind": "ones"}])", file + R"(: rule {"kind":"ones"}: expected an object with a "pattern" of names)");
  refuses(R"([{"pattern": ".*"}])", R"(: expected a "kind" of normal, uniform, zeros, ones)");
  refuses(R"([{"kind": "xavier", "pattern": ".*"}])", R"(rule {"kind":"xavier","pattern":".*"}: expected a "kind" of)");
  refuses(R"([{"pattern": ".*", "kind": "uniform"}])", R"(: expected an "std" above 0)");
  refuses(R"([{"pattern": ".*", "kind": "normal", "std": 0}])", R"(: expected an "std" above 0)");
  refuses(R"([{"pattern": ".*", "kind": "zeros", "std": 1}])", R"(: has no use for "std"; remove it)");
  refuses(R"([{"pattern": "(", "kind": "zeros"}])", file + ": pattern ( is no regular expression: ");
  refuses(R"([{"pattern": ".*", "kind": "ones"}, {"pattern": "params.a", "kind": "zeros"}])",
          file + ": pattern params.a fits no parameter that is left to it by those before; patterns are of whole names, as params.a");
  expectRefusal(toy, "--steps=3 --init=/nonexistent", "/nonexistent: cannot be opened: No such file or directory");
  expectRefusal(toy, "--steps=3 --init=auto --params=x", "--init has no effect with --params, which says where to start");
  expectRefusal(toy, "--steps=3 --init=auto --resume=x", "--init has no effect with --resume, which says where to start");
}

TEST(Refusals, FilesThatCannotBeReadOrWritten) {
  ToyRun toy;
  expectRefusal(toy, "--steps=3 --params=/nonexistent",
                "/nonexistent: cannot be opened: No such file or directory");
  expectRefusal(toy, "--steps=3 --params=/dev/null",
                "/dev/null: is not a regular file");
  for (const char *flag : {"--export", "--dump-grads", "--log"}) {
    expectRefusal(toy, std::string("--steps=3 ") + flag + "=/nonexistent/x",
                  "/nonexistent/x: cannot be written: No such file");
    // A file where the path has a directory: permissions do not stop root.
    expectRefusal(toy,
                  std::string("--steps=3 ") + flag + "=" +
                      toy.path("manifest.json/x"),
                  "manifest.json/x: cannot be written: Not a directory");
  }
  expectRefusal(toy, "--steps=3 --export=/",
                "/: is no regular file; name one, or a new one");
  expectRefusal(toy, "--steps=3 --params=$(printf '\\377')",
                "cannot be opened");
  std::string latin = toy.path("\xe4");
  std::filesystem::copy(toy.path("batch.safetensors"), latin);
  expectRefusal(ScriptRun(emptyProgram()), "--steps=3 --params=" + latin,
                "the names of files have to be UTF-8: " + latin);
}

TEST(Refusals, DamagedManifests) {
  ToyRun toy;
  std::string manifest = toy.path("manifest.json");
  std::filesystem::remove(manifest);
  expectRefusal(toy, "--steps=1",
                manifest +
                    ": No such file or directory; p3d-run takes the directory "
                    "that p3dc MODEL.mlir -o DIR made");
  std::ofstream(manifest) << "{";
  expectRefusal(
      toy, "--steps=1",
      manifest +
          ": is damaged: [json.exception.parse_error.101] parse error at line "
          "1, column 2: syntax error while parsing object key - unexpected end "
          "of input; expected string literal; compile again");
  std::ofstream(manifest) << R"({"ranks":[]})";
  expectRefusal(toy, "--steps=1", manifest + ": has no ranks");
  std::ofstream(manifest) << R"({"ranks":[1,2,3]})";
  expectRefusal(toy, "--steps=1",
                toy.path("bin/rank_0: belongs to a mesh of 8 ranks, the "
                         "manifest has 3; compile again"));
}

TEST(Refusals, ExecutablesThatDoNotBelong) {
  ToyRun toy;
  std::filesystem::remove(toy.path("bin/rank_0"));
  expectRefusal(toy, "--steps=1",
                toy.path("bin/rank_0: No such file or directory; compile "
                         "again"));
  std::filesystem::create_symlink(std::string(P3D_TOY) + "/bin/stage1",
                                  toy.path("bin/rank_0"));
  expectRefusal(toy, "--steps=1",
                toy.path("bin/rank_0: is the program of stage 1, expected "
                         "stage 0; compile again"));
  toy.setProgram(0, "exit 7");
  expectRefusal(toy, "--steps=1",
                toy.path("bin/rank_0: ended with status 7 when asked for its "
                         "program; compile again"));
  std::ofstream(toy.path("bin/rank_0")) << "no program";
  expectRefusal(toy, "--steps=1",
                toy.path("bin/rank_0: cannot be started: Exec format error"));
  toy.setProgram(0, "echo hello");
  expectRefusal(toy, "--steps=1",
                toy.path("bin/rank_0: description of the program: "));
  toy.setProgram(0, std::string(P3D_TOY) +
                        "/bin/stage0 --describe | sed s/\\\"toy/\\\"other/g");
  expectRefusal(toy, "--steps=1",
                toy.path("bin/rank_1: comes from another compilation than "
                         "rank_0; compile again"));
  toy.setProgram(0, std::string(P3D_TOY) +
                        "/bin/stage0 --describe | sed s/\\\"cpu/\\\"cuda/g");
  expectRefusal(toy, "--steps=1",
                toy.path("bin/rank_1: is for another target than rank_0; "
                         "compile again"));
}

TEST(Refusals, WhatTheMachineCannotGive) {
  json large = emptyProgram();
  large["arena_bytes"] = int64_t(1) << 50;
  expectRefusal(ScriptRun(large), "--steps=1",
                "the 1 ranks need 1048576.00 GiB of memory, ");
  EXPECT_THAT(ScriptRun(large).run("--steps=1").output,
              HasSubstr("GiB are available here"));
  expectRefusal(ToyRun(), "--steps=1",
                "8 ranks need 80 open files, the limit is 20 (ulimit -n)",
                "ulimit -n 20;");
  // The limit counts what this test inherits, so that goes first.
  expectRefusal(ToyRun(), "--steps=1",
                "cannot make a pipe: Too many open files",
                "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4;");
  expectRefusal(ToyRun(), "--steps=1",
                "cannot make the control region: File too large",
                "ulimit -f 0;");
}

TEST(Refusals, NothingToWrite) {
  ScriptRun toy(emptyProgram());
  expectRefusal(toy, "--steps=1 --export=" + toy.path("x"),
                toy.path("x: the program has no tensor to write"));
}

TEST(Refusals, ABugOfOursAsksForAReport) {
  json program = emptyProgram();
  program["params"] = {weight()};
  program["params"][0]["piece_offset"] = {0};
  program["params"][0]["piece_shape"] = {2};
  ScriptRun toy(program);
  std::string flags = "--steps=1 --export=" + toy.path("x");
  expectRefusal(toy, flags, "the pieces of params.w hold 2 of its 4 elements",
                "", 2);
  expectRefusal(toy, flags,
                "p3d-run: this is a bug of p3dc; please report it with the "
                "model and the command line",
                "", 2);
}

TEST(Refusals, AFullDisk) {
  ToyRun toy;
  std::string disk = toy.path("disk");
  std::string command = onFullDisk(disk, P3D_BIN "/p3d-run " + toy.path("") + " --steps=1 --data=" + toy.path("batch.safetensors") + " --export=" + disk +
                                             "/x; echo code $?; ls " + disk);
  if (command.empty())
    GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_THAT(runCommand(command).output, testing::ContainsRegex("disk/x: cannot reserve [0-9]+ bytes: No "
                                                    "space left on device\ncode 1\nfull\n$"));
}

TEST(Refusals, StandardOutputIsFull) {
  CommandResult result = ToyRun().run("--steps=1 > /dev/full");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_EQ(result.output.substr(result.output.find("p3d-run")),
            "p3d-run: error: standard output cannot be written: No space left "
            "on device\n");
}

TEST(RankFailures, TellHowARankEnded) {
  struct Case {
    std::string asRank, message;
    int exitCode;
  };
  for (const Case &c :
       {Case{"exit 7", "rank 0 ended by itself with status 7, at step 0; all "
                       "ranks are stopped",
             3},
        Case{"kill -9 $$", "rank 0 was killed by signal 9 (Killed), as the "
                           "kernel does when memory runs out, at step 0; all "
                           "ranks are stopped",
             3},
        // It leaves before it has finished its steps.
        Case{"exit 0", "rank 0 ended by itself with status 0, at step 0; all "
                       "ranks are stopped",
             3}}) {
    ScriptRun toy(emptyProgram(), c.asRank);
    expectRefusal(toy, "--steps=1", c.message, "", c.exitCode);
  }
  ScriptRun gone(emptyProgram());
  gone.setProgram(0, "cat " + gone.path("program.json") + "; rm \"$0\"");
  CommandResult result = gone.run("--steps=1");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output,
              HasSubstr("rank 0 gave up at step 0: " +
                        gone.path("bin/rank_0: cannot be started: No such "
                                  "file or directory")));
}

TEST(RankFailures, ASignalEndsTheRun) {
  ScriptRun toy(emptyProgram(), "exec sleep 60");
  CommandResult result =
      runCommand("timeout --preserve-status -s INT 1 " P3D_BIN "/p3d-run " +
                 toy.path("") + " --steps=1");
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_THAT(result.output, HasSubstr("p3d-run: error: stopped by signal 2 "
                                       "(Interrupt) after step 0"));
}

TEST(RankFailures, AStepWithoutAFiniteGradientIsSkipped) {
  ToyRun toy;
  Tensors batch = toyBatch();
  batch["batch.x"][0] = INFINITY;
  writeTensors(toy.path("batch.safetensors"),
               {{"batch.t", P3D_F32, {8, 4}}, {"batch.x", P3D_F32, {8, 4}}},
               batch);
  CommandResult result = toy.run("--steps=1");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("skipped: the gradient is not finite"));
}

} // namespace
