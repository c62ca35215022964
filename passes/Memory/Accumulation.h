// Results of blocks that are only ever added to an accumulator: the block adds them itself, and no memory holds them in between.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "llvm/ADT/DenseMap.h"

namespace p3d::memory {

class Accumulation {
public:
  /// Looks at all calls of the module's blocks.
  explicit Accumulation(mlir::ModuleOp module);

  /// The element type of the accumulators that result `number` of `block` is added to; null if some call wants the result itself.
  mlir::Type elementOf(mlir::Operation *block, unsigned number) const;

private:
  void add(graph::CallOp call, graph::BlockOp block);
  /// Of the stage around `op`.
  pipe::BufferOp bufferOf(pipe::AccumulateOp op);
  /// The only use of `value`, if it adds it to a float accumulator.
  pipe::AccumulateOp onlyAccumulate(mlir::Value value);

  mlir::SymbolTableCollection symbols;

  /// For each result of each block that is called.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Type>> elements;
};

/// Whether parts of a sum may be added to memory of this type one after the other; one of 16 bits is to be rounded once for each sum.
bool takesParts(mlir::Type element);

} // namespace p3d::memory
