// What is known of the addresses and numbers that reach a generated kernel, whoever launches it.
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace p3d::lower {

/// For each parameter of a kernel what it is a multiple of in every launch: bytes for a memory, a plain factor for a
/// number.
using ParameterMultiples = llvm::SmallVector<int64_t>;

/// Follows memory from where it lies (exec::kAlignment) through views and calls to the launches of a planned module.
class MemoryAlignment {
public:
  explicit MemoryAlignment(mlir::ModuleOp module);

  /// Ones for a kernel that nothing launches.
  ParameterMultiples parametersOf(mlir::func::FuncOp kernel) const;

private:
  /// Bytes that the address of `memory` is a multiple of.
  int64_t alignmentOf(mlir::Value memory);
  int64_t alignmentOfArgument(mlir::BlockArgument argument);
  void addLaunch(exec::LaunchOp launch);

  llvm::StringMap<llvm::SmallVector<exec::CallOp>> callsOf;
  llvm::DenseMap<mlir::Value, int64_t> known;
  llvm::StringMap<ParameterMultiples> kernels;
};

} // namespace p3d::lower
