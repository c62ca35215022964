// Writes the stages of a plan: buffers, tasks, transfers.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "passes/Stage/StagePlan.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace p3d {

/// Makes one `pipe.stage` after another at the end of the module of `step`, by asking for each operation of the
/// program, in its order, for its operands in its task: a value that another task or stage made comes through a buffer
/// or a transfer, which is made on first demand.
class StageBuilder {
public:
  StageBuilder(const TrainingStep &step, const StagePlan &plan, dist::MeshAttr mesh);
  mlir::LogicalResult build();

private:
  struct Task {
    pipe::TaskOp op;
    llvm::DenseMap<mlir::Value, mlir::Value> values; ///< of the program -> of this task
  };
  using Tasks = std::map<pipe::TaskKind, Task>;
  struct Stage {
    pipe::StageOp op;
    Tasks tasks;                                           ///< that run once a step
    llvm::MapVector<mlir::Value, pipe::BufferOp> buffers;  ///< by the program's value: argument, complete
    llvm::DenseMap<mlir::Value, pipe::BufferOp> gradients; ///< by the parameter
  };
  struct PartOfStage {
    Tasks tasks;                                            ///< that run for each microbatch
    llvm::DenseMap<mlir::Value, pipe::BufferOp> activations; ///< by the program's value
  };

  void makeStages();
  Stage &stageOf(int64_t part) { return stages[plan.placeOf(part).stage]; }
  Task &taskOf(int64_t part, pipe::TaskKind kind);
  /// The value in a task of a part; made there if it is not yet.
  mlir::Value get(int64_t part, pipe::TaskKind kind, mlir::Value value);
  mlir::Value make(int64_t part, pipe::TaskKind kind, mlir::Value value);
  void clone(int64_t part, pipe::TaskKind kind, mlir::Operation *op);
  mlir::Value read(int64_t part, pipe::TaskKind kind, pipe::BufferOp buffer);
  mlir::Value readComplete(int64_t part, pipe::TaskKind kind, mlir::Value value);
  /// What the task `from` of a part kept for its task `kind`.
  mlir::Value readActivation(int64_t part, pipe::TaskKind kind, pipe::TaskKind from, mlir::Value value);
  mlir::Value transfer(int64_t from, int64_t to, pipe::TaskKind kind, mlir::Value value);
  /// Keeps `value`, made by the task `kind` of `part`, for the microbatch in the slot of `home`.
  pipe::BufferOp keep(int64_t part, pipe::TaskKind kind, int64_t home, mlir::Value value);
  pipe::BufferOp keepComplete(int64_t part, mlir::Value value);
  void write(int64_t part, pipe::TaskKind kind, mlir::Value value, pipe::BufferOp buffer);
  pipe::BufferOp argumentBuffer(int64_t stage, mlir::BlockArgument argument);
  pipe::BufferOp gradientBuffer(int64_t stage, const ParameterGradient &entry);
  pipe::BufferOp createBuffer(int64_t stage, pipe::BufferKind kind, llvm::StringRef name, mlir::Type type);
  void accumulate(int64_t part, pipe::TaskKind kind, mlir::Value value, pipe::BufferOp buffer);

  mlir::LogicalResult addResult(unsigned index);
  void addGradient(const ParameterGradient &entry);
  void keepUnusedParameters();
  void addUpdates();
  void markTied();
  void finish();

  std::string nameOf(mlir::Value value);
  std::string gradientNameOf(mlir::BlockArgument parameter);
  /// The name of a value kept in the slot of `home`: that of the value, with the chunk where another one keeps it too.
  std::string activationNameOf(int64_t home, mlir::Value value);
  std::string uniqueName(llvm::StringRef wanted);
  int64_t firstHolder(mlir::Value argument) const;
  int64_t firstPartOf(int64_t stage) const;
  bool holdsUnreducedMicrobatches(unsigned result) const;

  const TrainingStep &step;
  const StagePlan &plan;
  dist::MeshAttr mesh;
  mlir::OpBuilder builder;
  std::vector<Stage> stages;
  std::vector<PartOfStage> parts;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Value, std::string> gradientNames;
  llvm::StringSet<> takenNames;
  int64_t channels = 0;
};

} // namespace p3d
