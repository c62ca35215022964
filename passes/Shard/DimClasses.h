// Classes of dimensions that must be cut alike: the dimensions that the factor rules of all operations tie together.
//
// Two dimensions are in one class when they start with the same factor of some operation, or are one value seen by caller and callee. A decoder has few:
// batch, sequence, model width, heads, feed-forward width, vocabulary. Cutting a class over an axis cuts each of its dimensions.
#pragma once

#include "dialects/Graph/FactorRules.h"
#include "llvm/ADT/DenseMap.h"

namespace p3d::shard {

class DimClasses {
public:
  /// Reads the program of `module` and all blocks that it calls.
  explicit DimClasses(mlir::ModuleOp module);

  static constexpr int kNone = -1;

  /// Class of dimension `dim` of `value`; kNone for size 1.
  int classOf(mlir::Value value, unsigned dim) const;
  /// Class of factor `factor` of `op`: that of the dimensions that it starts; kNone if it starts none.
  int classOfFactor(mlir::Operation *op, int factor) const;
  const graph::FactorRule &ruleOf(mlir::Operation *op) const { return rules.find(op)->second; }
  bool hasRule(mlir::Operation *op) const { return rules.contains(op); }

  int size() const { return units.size(); }
  /// The number of equal parts that a dimension of the class may be cut into (8 for a width of 8 heads of 16).
  int64_t unitsOf(int cls) const { return units[cls]; }
  /// Rows of each of `parts` shards of a dimension of `size` in class `cls`; parts * rows may exceed the size.
  int64_t chunk(int cls, int64_t size, int64_t parts) const {
    return llvm::divideCeil(units[cls], parts) * (size / units[cls]);
  }
  /// The class that data parallelism and microbatches cut: that of dimension 0 of the integer inputs, else of the first input; kNone without inputs.
  int batchClass() const { return batch; }
  /// Whether a class is that of dimension 1 of an integer input: tokens of one sequence.
  bool isSequence(int cls) const { return llvm::is_contained(sequences, cls); }

private:
  int node(mlir::Value value, unsigned dim);
  void addBody(mlir::Region &body);
  void addOp(mlir::Operation *op);
  void addCall(graph::CallOp call, mlir::SymbolTable &symbols);
  void tie(mlir::Value a, mlir::Value b);
  int find(int node) const;
  void finish(graph::ProgramOp program);

  llvm::DenseMap<mlir::Value, int> firstNode;
  mutable llvm::SmallVector<int> parent;
  llvm::SmallVector<int64_t> nodeUnits;
  llvm::DenseMap<mlir::Operation *, graph::FactorRule> rules;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int>> factorNodes;
  llvm::SmallVector<int> classOfNode;
  llvm::SmallVector<int64_t> units;
  int batch = kNone;
  llvm::SmallVector<int> sequences;
};

} // namespace p3d::shard
