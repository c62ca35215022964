// Names and roles of a program's arguments and results.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Regex.h"
#include <string>

namespace p3d::import {

/// `params['h0']['attn'][0]` -> `params.h0.attn.0`.
std::string dottedName(llvm::StringRef keyPath);

/// The name that a location carries, outermost first; empty when it has none.
llvm::StringRef nameOf(mlir::Location loc);

/// Names of the arguments, from their locations or `ttir.name`; `arg<N>` where there is none. All are different.
llvm::SmallVector<std::string> argumentNames(mlir::func::FuncOp function);

/// `loss` and the names of the metrics after it, from `jax.result_info`.
llvm::SmallVector<std::string> resultNames(mlir::func::FuncOp function);

/// Regular expressions given by the user; empty ones match nothing.
struct RolePatterns {
  std::string params, inputs, freeze;
};

/// "param", "frozen", "input", "buffer", "key", or "" where attribute, patterns and name say nothing.
mlir::FailureOr<llvm::SmallVector<std::string>> argumentRoles(mlir::func::FuncOp function, llvm::ArrayRef<std::string> names,
                                                              const RolePatterns &patterns);

} // namespace p3d::import
