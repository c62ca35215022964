// A verify pass that fails is a bug of ours, told with a file to report; another pass that fails is not.
#include "compiler/BugReport.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace p3d;

namespace {
struct FailingPass : PassWrapper<FailingPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FailingPass)
  FailingPass(StringRef argument) : argument(argument) {}
  StringRef getArgument() const override { return argument; }
  void runOnOperation() override { signalPassFailure(); }
  std::string argument;
};

/// The report of a run in which the pass of this name fails.
std::string reportOf(StringRef pass, std::string directory) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context), "broken");
  std::string text;
  PassManager passes(&context);
  passes.addInstrumentation(std::make_unique<BugReport>(text, directory));
  passes.addPass(std::make_unique<FailingPass>(pass));
  EXPECT_TRUE(failed(passes.run(*module)));
  return text;
}
} // namespace

TEST(BugReport, OfAVerifyPass) {
  llvm::SmallString<128> directory;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("bug", directory));
  std::string path = (directory + "/p3dc-bug-memory.mlir").str();
  EXPECT_EQ(reportOf("p3d-verify-memory", directory.str().str()),
            "this is a bug of p3dc; please report it with the model and the command line, and with " + path);
  auto file = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(file));
  EXPECT_TRUE((*file)->getBuffer().contains("module @broken"));
  EXPECT_EQ(reportOf("p3d-plan-memory", directory.str().str()), "");
  llvm::sys::fs::remove_directories(directory);
  // Without a place for the file the rest is still told.
  EXPECT_EQ(reportOf("p3d-verify-memory", "/nonexistent"),
            "this is a bug of p3dc; please report it with the model and the command line");
}
