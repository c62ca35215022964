// One case: a program compiled for its mesh and interpreted on all ranks, compared with what it means on one device.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"

namespace p3d::fuzz {

enum class Outcome {
  Match,
  Rejected, ///< by an error with a location
  Mismatch, ///< other numbers, or ranks that disagree
  Broken    ///< an error without a location, none at all, or a failed check of the compiler's own work
};

struct Verdict {
  Outcome outcome;
  std::string message;
};

llvm::StringRef nameOf(Outcome outcome);
inline bool isFailure(Outcome outcome) { return outcome == Outcome::Mismatch || outcome == Outcome::Broken; }

/// A context with every dialect.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Runs the case that the text of a module is; `name` stands for it in locations. Adds the operations of the partitioned program to `seen` if the case matches.
Verdict runCase(mlir::MLIRContext &context, llvm::StringRef text, llvm::StringRef name, llvm::StringSet<> *seen = nullptr);

} // namespace p3d::fuzz
