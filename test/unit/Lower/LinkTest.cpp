// What can go wrong between code and a program on the disk is said with the file and the reason.
#include "passes/Lower/EmitObject.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include <fstream>
#include <gmock/gmock.h>

using namespace mlir;
using namespace p3d;
using testing::HasSubstr;

namespace {
class LinkTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("p3d-link-test", directory)); }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  std::string path(const std::string &name) { return (directory + "/" + name).str(); }
  void writeLinkFile(const std::string &words) { std::ofstream(path("link.txt")) << words; }

  /// What linking `object` to `out` complains of.
  std::string complaint(const std::string &out, StringRef object = "") {
    std::string text;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { text += diagnostic.str(); });
    EXPECT_TRUE(failed(lower::linkExecutable(UnknownLoc::get(&context), {lower::ObjectCode(object.begin(), object.end())}, directory, "link.txt", out)));
    return text;
  }

  MLIRContext context;
  llvm::SmallString<128> directory;
};

TEST_F(LinkTest, MissingInstallation) {
  EXPECT_EQ(complaint(path("out")),
            "cannot read " + path("link.txt") + ": No such file or directory; it belongs to the installation of p3dc, for --target=cuda to one that was built with the CUDA toolkit");
}

TEST_F(LinkTest, LinkerSaysWhy) {
  writeLinkFile("--no-such-option\n");
  EXPECT_THAT(complaint(path("out")), HasSubstr("cannot link " + path("out") + ": "));
}

TEST_F(LinkTest, ProgramCannotBeWritten) {
  writeLinkFile("-m\nelf_x86_64\n--format=binary\n-shared\n${objects}\n");
  std::string out = path("none") + "/out";
  EXPECT_EQ(complaint(out, "data"), "cannot write " + out + ": No such file or directory");
}

TEST_F(LinkTest, NoTemporaryDirectory) {
  const char *before = getenv("TMPDIR");
  std::string kept = before ? before : "/tmp";
  setenv("TMPDIR", path("none").c_str(), 1);
  EXPECT_EQ(complaint(path("out")), "cannot make a temporary directory: No such file or directory");
  setenv("TMPDIR", kept.c_str(), 1);
}
} // namespace
