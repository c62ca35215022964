// What p3dc does when a check of its own finds a bug in it: exit code 2 and a file to report.
#pragma once

#include "mlir/Pass/PassInstrumentation.h"
#include <string>

namespace p3d {

constexpr int kOurError = 2;

/// Added to a pass manager: a verify pass that fails rejects what the passes before it made, which no input may cause. Writes the IR that it saw to
/// `<directory>/p3dc-bug-<pass>.mlir` and puts what the user is to report into `text`, which stays empty for every other failure.
class BugReport : public mlir::PassInstrumentation {
public:
  BugReport(std::string &text, std::string directory = ".") : text(text), directory(std::move(directory)) {}
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override;
  /// `op` is not what `name`, a pass or a level, may have made.
  void report(llvm::StringRef name, mlir::Operation *op);

private:
  std::string &text;
  std::string directory;
};

/// Ends p3dc with exit code 2 where LLVM cannot go on.
void installFatalErrorReport();

} // namespace p3d
