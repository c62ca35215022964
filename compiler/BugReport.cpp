#include "compiler/BugReport.h"
#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace p3d;

void BugReport::runAfterPassFailed(Pass *pass, Operation *op) {
  llvm::StringRef name = pass->getArgument();
  if (name.consume_front("p3d-verify-"))
    report(name, op);
}

void BugReport::report(llvm::StringRef name, Operation *op) {
  text = "this is a bug of p3dc; please report it with the model and the command line";
  std::string path = directory + "/p3dc-bug-" + name.str() + ".mlir";
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return;
  op->print(file, OpPrintingFlags().enableDebugInfo());
  file.close();
  if (file.has_error())
    file.clear_error();
  else
    text += ", and with " + path;
}

void p3d::installFatalErrorReport() {
  // unreachable from input: a crash
  llvm::setBugReportMsg("p3dc: this is a bug of p3dc; please report it with the model and the command line\n");
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    // unreachable from input: LLVM cannot go on with what it was given
    llvm::errs() << "p3dc: error: " << reason << "; this is a bug of p3dc; please report it with the model and the command line\n";
    exit(kOurError);
  });
}
