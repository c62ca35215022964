// Short forms for building LLVM dialect: constants, addresses, calls of C functions.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace p3d::lower {

class LlvmBuilder {
public:
  /// Functions and globals are declared in `module`; the insertion point is `builder`'s.
  LlvmBuilder(mlir::ModuleOp module, mlir::Location loc)
      : builder(module.getContext()), module(module), loc(loc), pointer(mlir::LLVM::LLVMPointerType::get(module.getContext())) {}

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value f32(double value);
  mlir::Value null();
  /// `base` + `bytes`
  mlir::Value offset(mlir::Value base, int64_t bytes);
  mlir::Value offset(mlir::Value base, mlir::Value bytes);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value remainder(mlir::Value a, int64_t b);
  mlir::Value loadI64(mlir::Value address);

  /// Calls the C function `name`, declaring it by its arguments if that is its first use. Null for a function without result.
  mlir::Value call(llvm::StringRef name, mlir::ValueRange args, mlir::Type result = {});
  /// The address of the C function `name` that returns nothing, declared if this is its first use.
  mlir::Value addressOf(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments);
  /// The address of an array on the stack with these values of 8 bytes.
  mlir::Value array(mlir::ValueRange values);
  /// The address of read-only bytes, the same for equal ones.
  mlir::Value constantBytes(llvm::StringRef bytes, int64_t alignment);

  /// A function that returns nothing, with the builder at the start of its body; end it with `finishFunction`.
  mlir::LLVM::LLVMFuncOp startFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments);
  void finishFunction();

  mlir::OpBuilder builder;
  mlir::ModuleOp module;
  mlir::Location loc;
  mlir::Type pointer;

private:
  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments, mlir::Type result);

  llvm::StringMap<std::string> constants;
};

} // namespace p3d::lower
