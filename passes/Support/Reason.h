// Why data moves, for people. A change of sharding and the collective that carries it out say in `why` what makes them
// necessary; two further attributes say which parameters are concerned, and what would make the movement disappear.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace p3d {

inline constexpr llvm::StringLiteral kParametersAttr = "dist.parameters";
inline constexpr llvm::StringLiteral kRemedyAttr = "dist.remedy";
/// On the module: for each dimension that tp cuts into parts that are not all full {dimension, units, rows (units of a
/// rank), parameters}. 6 heads over 4 ranks are 2 a rank, and room for 8.
inline constexpr llvm::StringLiteral kUnevenAttr = "dist.uneven";

struct Reason {
  std::string text;
  std::string remedy;                        ///< empty where nothing moves
  llvm::SmallVector<std::string> parameters; ///< as generalizeNames writes them
};

/// Writes the remedy and the parameters of `reason` on `op`; its text is an operand of the ops that have one.
void annotateReason(mlir::Operation *op, const Reason &reason);
/// Copies what annotateReason has written.
void copyReason(mlir::Operation *from, mlir::Operation *to);

/// Of one op in the place of several over one axis: each text once, all parameters, and the remedy, or what the remedies
/// begin with where they differ.
Reason joinReasons(llvm::ArrayRef<mlir::Operation *> ops);

/// What `why` says; empty for an op without.
llvm::StringRef reasonOf(mlir::Operation *op);
llvm::StringRef remedyOf(mlir::Operation *op);
llvm::SmallVector<std::string> parametersOf(mlir::Operation *op);

} // namespace p3d
