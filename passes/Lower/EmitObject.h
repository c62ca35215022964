// From a module of LLVM dialect to machine code, and from objects to an executable.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace p3d::lower {

struct EmitOptions {
  /// "native" or the name of a CPU as LLVM knows it.
  std::string cpu = "native";
  /// 0 to 3.
  unsigned optimization = 3;
};

using ObjectCode = llvm::SmallVector<char, 0>;

/// The relocatable object of one of the modules that p3d-lower-commands makes ("common", or a program's). Emits an error if LLVM refuses it.
mlir::FailureOr<ObjectCode> emitObject(mlir::ModuleOp module, const EmitOptions &options = {});

/// The relocatable object of `module`, for which this machine's triple and layout are set.
mlir::FailureOr<ObjectCode> emitModule(mlir::Location loc, llvm::Module &module, const EmitOptions &options);

/// LLVM's pipeline of `level` (0 to 3) for `machine`.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned level);

/// Emits an error that lists the known CPUs unless `cpu` is "native" or one of them.
mlir::LogicalResult checkCpu(mlir::Location loc, llvm::StringRef cpu);

/// Writes a file; emits an error at `loc` if it cannot be written whole.
mlir::LogicalResult writeFile(mlir::Location loc, llvm::StringRef path, llvm::StringRef bytes);

/// Links `objects` with the base object and the start-up files of `libraryDir` into the executable `path`. Emits an error at `loc` with the linker's words.
/// `linkFile` in that directory says with which ("link.txt", "link-cuda.txt").
mlir::LogicalResult linkExecutable(mlir::Location loc, llvm::ArrayRef<ObjectCode> objects, llvm::StringRef libraryDir, llvm::StringRef linkFile,
                                   llvm::StringRef path);

} // namespace p3d::lower
