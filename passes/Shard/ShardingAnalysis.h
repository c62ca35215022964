// Propagation of shardings: given the classes that tp cuts, where every value lives and which operands have to move.
//
// One pass forward over each body. For each operation at most one factor is cut over tp and one over the batch axes (dp and mb); operands that
// lie otherwise are resharded, partial sums stay partial through operations that are linear in them. Blocks are analysed once, at their first call;
// every call obeys the result. The analysis changes nothing, so that the search may run it for many choices.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "passes/Shard/DimClasses.h"
#include "passes/Support/CostModel.h"

namespace p3d::shard {

/// On a block: it works once a step on the whole batch of a replica; its results are complete.
inline constexpr llvm::StringLiteral kPrologueAttr = "graph.prologue";
/// On a block: what it computes for each microbatch depends on no parameter, and is recomputed wherever it is needed.
inline constexpr llvm::StringLiteral kSharedAttr = "graph.shared";

/// Where a value lives over an axis: a dimension is cut, or partial values stand for their sum, or each rank has it whole.
struct Part {
  int8_t dim = -1;
  bool isPartial = false;

  static Part cut(int dim) { return {int8_t(dim), false}; }
  static Part partial() { return {-1, true}; }
  bool operator==(const Part &other) const { return dim == other.dim && isPartial == other.isPartial; }
  bool operator!=(const Part &other) const { return !(*this == other); }
};

/// Where a value lives. tp is tp_major x tp_minor, which differ only about a split class (DimClasses). The axes dp and mb always cut together, the batch class,
/// except in the prologue, which has no mb.
struct Placement {
  std::array<Part, 2> tp; ///< over tp_major and tp_minor
  Part batch;
  graph::ReduceKind kind = graph::ReduceKind::Sum;

  bool isPartialOverTp() const { return tp[0].isPartial || tp[1].isPartial; }
  bool isCutOverTp() const { return tp[0].dim >= 0 || tp[1].dim >= 0; }
  void setTp(Part part) { tp = {part, part}; }
  bool operator==(const Placement &other) const { return tp == other.tp && batch == other.batch; }
  bool operator!=(const Placement &other) const { return !(*this == other); }
};

/// What an operation cuts over an axis, or that it passes partial sums on.
struct Cut {
  int factor = -1;
  bool passesPartial = false;
};

/// An operand that is needed under another placement than its value has.
struct Move {
  mlir::OpOperand *use;
  Placement from, to;
};

struct ShardingOptions {
  dist::MeshAttr mesh;
  /// For each class whether tp cuts it.
  llvm::SmallVector<bool> cut;
  /// What a rank of tp reaches: of its peers, and of its own memory.
  Link link;
  double memoryBytesPerSecond;
  /// UserShardings::constraints; outlives the analysis.
  const llvm::DenseMap<mlir::Operation *, int> *constraints;
};

/// Cost of a choice for a rank and one turn of the step: operations of matrix products, bytes of parameters, and predicted seconds of all else, messages over tp and memory
/// traffic; `uncut` where tp cuts nothing.
struct ShardingCost {
  double flops = 0, uncutFlops = 0, parameters = 0, uncutParameters = 0, seconds = 0, uncutSeconds = 0;
};

class ShardingAnalysis {
public:
  ShardingAnalysis(mlir::ModuleOp module, const DimClasses &classes, ShardingOptions options)
      : module(module), classes(classes), options(std::move(options)), symbols(module) {}

  /// Fails when an operation cannot be cut over the batch axes as it must; the message is emitted unless `quiet`.
  mlir::LogicalResult run(bool quiet = false);

  const Placement &placementOf(mlir::Value value) const { return placements.find(value)->second; }
  llvm::ArrayRef<Move> moves() const { return allMoves; }
  const ShardingCost &cost() const { return total; }
  /// Spells a placement of `value` as an attribute; `hasMicrobatches` is false in the prologue.
  dist::ShardingAttr spell(mlir::Value value, const Placement &placement, bool hasMicrobatches) const;
  /// Of the whole tensor.
  int64_t bytesOf(mlir::Value value) const;
  /// Of what a rank holds of one microbatch.
  int64_t bytesHeld(mlir::Value value, const Placement &placement) const;

private:
  struct Choice;
  mlir::LogicalResult runBody(mlir::Region &body, double weight);
  mlir::LogicalResult runOp(mlir::Operation *op);
  mlir::LogicalResult runCall(graph::CallOp call);
  mlir::LogicalResult runYield(graph::YieldOp yield);
  mlir::LogicalResult runUpdate(graph::UpdateOp update);
  mlir::LogicalResult require(mlir::OpOperand &use, Placement to);
  mlir::FailureOr<int> batchFactor(mlir::Operation *op);
  bool spreadsOverBatch(mlir::Operation *op) const;
  /// Whether a sum over the batch is complete only after the last of several microbatches.
  bool sumsMicrobatches() const { return hasMicrobatches && options.mesh.getMb() > 1; }
  bool passesPartial(mlir::Operation *op, llvm::function_ref<const Part &(const Placement &)> over, bool cheaper) const;
  /// What tp_major and tp_minor cut where tp cuts `factor`, and where that is chosen.
  std::array<Cut, 2> cutsOf(mlir::Operation *op, int factor) const;
  std::array<Cut, 2> chooseTpCuts(mlir::Operation *op) const;
  int chooseTpFactor(mlir::Operation *op) const;
  bool mayCut(mlir::Operation *op, int factor) const;
  bool isWideSequence(mlir::Value value) const;
  bool hasBatch(mlir::Value value) const;
  double moveFactor(mlir::Value value) const;
  bool isOfCutWeight(mlir::Operation *op, mlir::Value gradient) const;
  int sequenceDim(mlir::Value value) const;
  std::optional<int> constrainedTpFactor(mlir::Operation *op) const;
  /// Bytes that a rank sends.
  double moveCost(mlir::Value value, const Placement &from, const Placement &to) const;
  void addWork(mlir::Operation *op, const std::array<Cut, 2> &cuts);
  /// Calls `message(kind, bytes, ranks)`, as messageSeconds takes them, for each collective over tp of a move.
  void forEachMessage(mlir::Value value, const Placement &from, const Placement &to, llvm::function_ref<void(llvm::StringRef, double, int64_t)> message) const;
  void addMove(mlir::Value value, const Placement &from, const Placement &to, double times);
  Placement argumentPlacement(mlir::Value argument) const;
  Placement gradientTarget(mlir::Value result) const;
  int64_t batchParts() const;
  /// Ranks of tp_major and tp_minor; all and 1 where no class is split.
  int64_t ranksOf(bool isMinor) const { return isMinor ? options.mesh.getTpMinor() : options.mesh.getTp() / options.mesh.getTpMinor(); }
  double cutOf(int cls, bool isFine) const;
  mlir::InFlightDiagnostic error(mlir::Operation *op);

  mlir::ModuleOp module;
  const DimClasses &classes;
  ShardingOptions options;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Value, Placement> placements;
  llvm::DenseSet<mlir::Operation *> doneBlocks;
  /// Arguments of blocks that are arguments of the program: its parameters.
  llvm::DenseSet<mlir::Value> parameterArguments;
  /// For the results of a backward block that are gradients of parameters: the placement of the parameter.
  llvm::DenseMap<mlir::OpOperand *, Placement> gradientTargets;
  /// For gradients how they lie when their parameters are updated.
  llvm::DenseMap<mlir::Value, Placement> updateTargets;
  llvm::SmallVector<Move> allMoves;
  llvm::DenseMap<mlir::OpOperand *, Placement> moveOf;
  llvm::DenseSet<std::pair<mlir::Value, int>> moved;
  ShardingCost total;
  double weight = 1;
  bool hasMicrobatches = true;
  bool quiet = false;
};

} // namespace p3d::shard
