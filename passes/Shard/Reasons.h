// Why values change their sharding, in the words of whoever wrote the model: parameters by their names, dimensions by
// what they are.
#pragma once

#include "passes/Shard/ShardingAnalysis.h"
#include "passes/Support/ParameterNames.h"
#include "passes/Support/Reason.h"

namespace p3d::shard {

class Reasons {
public:
  /// `cut` says for each class whether tp cuts it. All four outlive this; the module still is as it was analysed.
  Reasons(mlir::ModuleOp module, const DimClasses &classes, const ShardingAnalysis &analysis, llvm::ArrayRef<bool> cut);

  /// Of one reshard, which serves all of `moves`: the same value in the same new place for several uses.
  Reason of(llvm::ArrayRef<Move> moves) const;

  /// The value of kUnevenAttr where tp has `parts` ranks; null if these can share everything evenly.
  mlir::ArrayAttr uneven(mlir::MLIRContext *context, int64_t parts) const;

private:
  using Names = llvm::SmallVector<std::string>;

  void nameClasses(mlir::ModuleOp module);
  /// "the vocabulary", "the sequence", "dimension 1 of params.h*.up".
  std::string nameOf(int cls) const;
  std::string nameOfDim(mlir::Value value, int dim) const;
  mlir::Operation *forwardOf(mlir::Operation *op) const;
  Names parametersOf(mlir::Operation *op) const;
  std::string describe(mlir::Operation *op) const;
  mlir::OpResult passedResult(mlir::Value value) const;
  /// What was saved as this argument of a backward block; null if nothing was.
  mlir::Value savedValue(mlir::Value argument) const;
  std::string describeSource(mlir::Value value) const;
  std::string describeProducts(llvm::ArrayRef<mlir::Operation *> products) const;
  /// "rms_norm needs it whole".
  std::string describeNeed(llvm::ArrayRef<Move> moves, llvm::StringRef verb, llvm::StringRef what) const;
  void collectMakers(mlir::Value value, llvm::SetVector<mlir::Operation *> &makers) const;
  bool mayCutSequence(mlir::Value value) const;
  std::string describePartial(mlir::Value value, graph::ReduceKind kind, llvm::ArrayRef<mlir::Operation *> makers,
                              llvm::ArrayRef<std::string> parameters) const;
  Reason ofPartial(llvm::ArrayRef<Move> moves) const;
  Reason ofGather(llvm::ArrayRef<Move> moves) const;

  const DimClasses &classes;
  const ShardingAnalysis &analysis;
  llvm::ArrayRef<bool> cut;
  ParameterNames names;
  llvm::DenseMap<int, std::string> classNames;
  /// One call of each block.
  llvm::DenseMap<mlir::Operation *, graph::CallOp> callOf;
  llvm::DenseSet<mlir::OpOperand *> movedUses;
  /// Parameters that have a dimension of a class, in the order of the program.
  llvm::DenseMap<int, Names> classParameters;
  llvm::DenseMap<std::pair<mlir::Operation *, int64_t>, mlir::Operation *> forwardOps;
};

} // namespace p3d::shard
