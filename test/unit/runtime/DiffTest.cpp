// p3d-diff: what it compares, and what it refuses.
#include "test/unit/runtime/ToyRun.h"
#include <gmock/gmock.h>

using namespace p3d;
using namespace p3d::test;
using testing::HasSubstr;

namespace {

class Diff : public testing::Test {
protected:
  ToyRun toy;

  void SetUp() override {
    writeTensors(toy.path("a"), {{"x", P3D_F32, {2}}, {"y", P3D_F32, {1}}},
                 {{"x", {3, 4}}, {"y", {1}}});
    writeTensors(toy.path("b"), {{"x", P3D_F32, {2}}, {"y", P3D_F32, {1}}},
                 {{"x", {3, 4.01f}}, {"y", {1}}});
    writeTensors(toy.path("c"), {{"x", P3D_F32, {2}}}, {{"x", {3, 4}}});
  }
  CommandResult diff(const std::string &arguments) {
    return runCommand("cd " + toy.path("") + "; " + P3D_BIN + "/p3d-diff " +
                      arguments);
  }
  void expectRefusal(const std::string &arguments, const std::string &message) {
    CommandResult result = diff(arguments);
    EXPECT_EQ(result.exitCode, 1) << arguments;
    EXPECT_EQ(result.output, "p3d-diff: error: " + message + "\n");
  }
};

TEST_F(Diff, ComparesByName) {
  EXPECT_EQ(diff("a b --rtol=0.01").exitCode, 0);
  CommandResult result = diff("a b --rtol=0.001");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("x: relative 1.997e-03"));
  EXPECT_THAT(result.output,
              HasSubstr("2 tensors compared, 1 fail, 0 missing"));
  EXPECT_EQ(diff("a b --rtol=0.001 --atol=0.01").exitCode, 0);
  EXPECT_EQ(diff("c a --rtol=0").exitCode, 0);
  result = diff("a c --rtol=0");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.output, HasSubstr("y: missing in c"));
}

TEST_F(Diff, Refusals) {
  expectRefusal("a nowhere --rtol=0",
                "nowhere: cannot be opened: No such file or directory");
  writeTensors(toy.path("wide"), {{"x", P3D_F32, {1, 2}}}, {{"x", {3, 4}}});
  expectRefusal("wide c --rtol=0",
                "tensor x has shape [1,2] in wide, but shape [2] in c");
  writeTensors(toy.path("none"), {}, {});
  expectRefusal("none c --rtol=0", "none: has no tensors");
  for (const char *flag : {"--rtol", "--rtol=", "--rtol=-1", "--atol=0.1x"})
    expectRefusal(std::string("a b ") + flag,
                  std::string(flag) + ": expected a number not below 0");
  expectRefusal("a b --tol=1", "unknown flag --tol=1 (--help lists all)");
  expectRefusal("a b", "2 files are given, --rtol is not; usage: p3d-diff "
                       "A.safetensors B.safetensors --rtol=X [--atol=Y]");
  expectRefusal("a --rtol=1",
                "1 files are given, --rtol is; usage: p3d-diff A.safetensors "
                "B.safetensors --rtol=X [--atol=Y]");
}

} // namespace
