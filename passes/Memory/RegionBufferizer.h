// Turns the values of a region (the body of a block or of a task) into memory and its operations into commands.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "dialects/Exec/ExecOps.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Memory/Accumulation.h"
#include "passes/Memory/BlockInterface.h"
#include "passes/Memory/Epilogues.h"
#include "passes/Memory/Fusion.h"
#include "passes/Memory/KernelBuilder.h"
#include "passes/Memory/KernelLibrary.h"

namespace p3d::memory {

class RegionBufferizer {
public:
  /// Commands are made at `builder`'s place; blocks that are called are looked up in `symbols`; products have epilogues
  /// if `hasEpilogues`.
  RegionBufferizer(mlir::Block &region, KernelLibrary &kernels, mlir::SymbolTable &symbols,
                   const Accumulation &accumulation, bool hasEpilogues, mlir::OpBuilder builder)
      : builder(builder), region(region), kernels(kernels), symbols(symbols), accumulation(accumulation),
        hasEpilogues(hasEpilogues), fusion(region) {}

  /// `tensor` lies in `memory`.
  void bind(mlir::Value tensor, mlir::Value memory) { memories[tensor] = memory; }
  /// Asks that `tensor` be made in `out`. Returns false if it lies elsewhere, so that `store` has to copy it there.
  bool place(mlir::Value tensor, mlir::Value out);

  /// Asks that `tensor`, of which nothing else is wanted, be added to `out`. Returns false if its operation cannot, so that `store` has to.
  bool placeSum(mlir::Value tensor, mlir::Value out);
  /// Where `tensor` is to be added; null if it has memory of its own.
  mlir::Value sumOf(mlir::Value tensor) { return sums.lookup(tensor); }

  /// Commands for a graph or dist operation; emits an error for one that has none.
  mlir::LogicalResult bufferize(mlir::Operation *op);
  /// Writes `tensor` into `out`, or adds it.
  mlir::LogicalResult store(mlir::Location loc, mlir::Value tensor, mlir::Value out, mlir::Type outElement, Store how);

  /// The memory of `tensor`, which has some.
  mlir::Value memory(mlir::Value tensor);
  /// New memory for `tensor`: where it was asked to be, or a temporary.
  mlir::Value allocate(mlir::Value tensor);
  /// Whether `result` shares the memory of what it is made from.
  bool reusesOperand(mlir::Value result) { return aliasOf(result) != nullptr; }
  /// `source` as the memory of a tensor of `tensor`'s type.
  mlir::Value viewAs(mlir::Value source, mlir::Value tensor);
  /// The number of the first row of the part that `op` holds of dimension `dim`; null for the whole.
  mlir::Value startOf(mlir::Operation *op, int64_t dim);
  mlir::Value startOf(mlir::Operation *op);
  mlir::Value start(mlir::Location loc, llvm::ArrayRef<dist::Axis> axes, int64_t chunk);

  mlir::OpBuilder builder;

private:
  /// The decision on epilogues, made when the first operation is bufferized: it depends on where sums go.
  Epilogues &productEpilogues();
  mlir::LogicalResult bufferizeGenerated(mlir::Operation *op);
  mlir::LogicalResult makeElements(mlir::Value tensor);
  mlir::LogicalResult makeReduction(graph::ReduceOp op);
  mlir::LogicalResult makeConcat(graph::ConcatOp op);
  mlir::LogicalResult makePad(graph::PadOp op);
  mlir::LogicalResult makeCall(graph::CallOp op);
  mlir::LogicalResult makeCumulative(graph::CumulativeOp op);
  mlir::LogicalResult makeConstant(graph::ConstantOp op);
  void makeSlice(dist::ShardSliceOp op);
  /// A kernel over `spec.loops` that stores `tensor` at `indices`.
  mlir::LogicalResult launch(mlir::Location loc, llvm::StringRef name, KernelSpec spec, mlir::Value tensor,
                             llvm::ArrayRef<LinearIndex> indices);

  /// The value whose memory `value` shares under another shape, or null.
  mlir::Value aliasOf(mlir::Value value);
  /// Whether `value` gets memory of its own here.
  bool isFresh(mlir::Value value);
  /// Whether `value` has memory, here or as an argument of the region.
  bool isStored(mlir::Value value) { return fusion.hasMemory(value) || llvm::isa<mlir::BlockArgument>(value); }
  /// Whether a slice is a contiguous part of memory, and so needs no copy.
  bool isView(dist::ShardSliceOp op);

  mlir::Block &region;
  KernelLibrary &kernels;
  mlir::SymbolTable &symbols;
  const Accumulation &accumulation;
  bool hasEpilogues;
  Fusion fusion;
  std::optional<Epilogues> epilogues;
  llvm::DenseMap<mlir::Value, mlir::Value> memories, destinations, sums;
  llvm::SmallVector<exec::StartOp> starts;
};

/// Commands for the collectives of dist, and for the named operations that the kernel library has. Failure without an error means that `op` is neither.
mlir::FailureOr<bool> bufferizeCollective(RegionBufferizer &region, mlir::Operation *op);
mlir::FailureOr<bool> bufferizeLibraryCall(RegionBufferizer &region, mlir::Operation *op);
mlir::LogicalResult bufferizeProduct(RegionBufferizer &region, const ProductEpilogue &epilogue);

} // namespace p3d::memory
