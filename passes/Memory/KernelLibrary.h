// The kernels of a module, each content once.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace p3d::memory {

class KernelLibrary {
public:
  explicit KernelLibrary(mlir::ModuleOp module) : module(module) {}

  /// Takes a detached kernel and returns it, or an equal one that the module already has. `name` says what it computes.
  mlir::func::FuncOp add(mlir::func::FuncOp kernel, llvm::StringRef name);

private:
  /// Declares the functions of the C library that `kernel` calls.
  void declareCallees(mlir::func::FuncOp kernel);

  mlir::ModuleOp module;
  llvm::StringMap<mlir::func::FuncOp> byText;
  llvm::StringMap<unsigned> byName;
};

} // namespace p3d::memory
