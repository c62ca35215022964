// Makes a kernel of a body: loops over memory, as one linalg.generic in a func.func.
#pragma once

#include "passes/Memory/KernelBody.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace p3d::memory {

/// What a kernel does with the scalar of each iteration.
enum class Store {
  Set,   ///< writes it
  Add,   ///< adds it to what the memory holds
  Reduce, ///< combines those of one element, from the neutral value on
  ReduceAdd ///< combines those of one element with what the memory holds
};

struct KernelSpec {
  llvm::SmallVector<int64_t> loops;
  Store store = Store::Set;
  /// The number of a graph.reduce kind, for Store::Reduce and Store::ReduceAdd.
  uint32_t reduceKind = 0;
  /// Memory written, its tensor's element type, and the element that an iteration writes.
  mlir::Value out;
  mlir::Type outElement;
  LinearIndex outIndex;
};

/// A detached kernel whose parameters are body.reads' memories (each once, see `ins`), body.starts, spec.out. `scalar` is the value of an iteration.
struct BuiltKernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> ins;
};
BuiltKernel buildKernel(KernelBody &body, const KernelSpec &spec, mlir::Value scalar);

} // namespace p3d::memory
