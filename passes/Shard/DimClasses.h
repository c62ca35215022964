// Classes of dimensions that must be cut alike: the dimensions that the factor rules of all operations tie together.
//
// Two dimensions are in one class when they start with the same factor of some operation, or are one value seen by caller and callee. A decoder has few:
// batch, sequence, model width, heads, feed-forward width, vocabulary. Cutting a class over an axis cuts each of its dimensions.
#pragma once

#include "dialects/Graph/FactorRules.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

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
  /// Where a class has fewer units than `tp` ranks (two key heads over four), its dimensions may fall into more parts behind their units (a query head of each
  /// key head's group): then tp_major cuts the units, tp_minor what stands behind them, and dimensions that have units alone are the same on
  /// the ranks of tp_minor. Finds such a class; called once, before the questions below.
  void splitOver(int64_t tp);
  bool isSplit(int cls) const { return cls != kNone && cls == split; }
  /// Ranks that share a unit of the split class, if it is one of those that are `cut`; else 1.
  int64_t minorRanks(int64_t tp, llvm::ArrayRef<bool> cut) const { return split != kNone && cut[split] ? tp / units[split] : 1; }
  /// Whether dimension `dim` of `value`, in a split class, falls into as many parts as there are ranks.
  bool isFine(mlir::Value value, unsigned dim) const;
  /// What tp_minor cuts in `op` where tp_major cuts `factor`: the same factor, in a split class one that stands behind it, or -1.
  int minorFactor(mlir::Operation *op, int factor) const;

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
  /// Of a class with `unitsOf` parts: the dimensions behind whose units others stand, tied as far as they are the same.
  class Rests;

  llvm::DenseMap<mlir::Value, int> firstNode;
  mutable llvm::SmallVector<int> parent;
  llvm::SmallVector<int64_t> nodeUnits;
  llvm::DenseMap<mlir::Operation *, graph::FactorRule> rules;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int>> factorNodes;
  llvm::SmallVector<int> classOfNode;
  llvm::SmallVector<int64_t> units;
  int split = kNone;
  llvm::DenseSet<int> fineNodes;
  llvm::SmallVector<std::pair<int, int>> ties; ///< nodes that are one dimension of callers and callees
  int batch = kNone;
  llvm::SmallVector<int> sequences;
};

} // namespace p3d::shard
