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
  struct Stage {
    pipe::StageOp op;
    std::map<pipe::TaskKind, Task> tasks;
    llvm::MapVector<mlir::Value, pipe::BufferOp> buffers;  ///< by the program's value: argument, complete, activation
    llvm::DenseMap<mlir::Value, pipe::BufferOp> gradients; ///< by the parameter
  };

  void makeStages();
  /// The value in a task; made there if it is not yet.
  mlir::Value get(int64_t stage, pipe::TaskKind kind, mlir::Value value);
  mlir::Value make(int64_t stage, pipe::TaskKind kind, mlir::Value value);
  void clone(int64_t stage, pipe::TaskKind kind, mlir::Operation *op);
  mlir::Value read(int64_t stage, pipe::TaskKind kind, pipe::BufferOp buffer);
  mlir::Value readComplete(int64_t stage, pipe::TaskKind kind, mlir::Value value);
  mlir::Value readActivation(int64_t stage, mlir::Value value);
  mlir::Value transfer(int64_t from, int64_t to, pipe::TaskKind kind, mlir::Value value);
  /// Keeps `value`, made by the task `kind`, in a buffer.
  pipe::BufferOp keep(int64_t stage, pipe::TaskKind kind, pipe::BufferKind as, mlir::Value value);
  pipe::BufferOp argumentBuffer(int64_t stage, mlir::BlockArgument argument);
  pipe::BufferOp gradientBuffer(int64_t stage, const ParameterGradient &entry);
  pipe::BufferOp createBuffer(int64_t stage, pipe::BufferKind kind, llvm::StringRef name, mlir::Type type);
  void accumulate(int64_t stage, pipe::TaskKind kind, mlir::Value value, pipe::BufferOp buffer);

  mlir::LogicalResult addResult(unsigned index);
  void addGradient(const ParameterGradient &entry);
  void keepUnusedParameters();
  void addUpdates();
  void markTied();
  void finish();

  std::string nameOf(mlir::Value value);
  std::string gradientNameOf(mlir::BlockArgument parameter);
  std::string uniqueName(llvm::StringRef wanted);
  int64_t firstHolder(mlir::Value argument) const;
  bool holdsUnreducedMicrobatches(unsigned result) const;

  const TrainingStep &step;
  const StagePlan &plan;
  dist::MeshAttr mesh;
  mlir::OpBuilder builder;
  std::vector<Stage> stages;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Value, std::string> gradientNames;
  llvm::StringSet<> takenNames;
  int64_t channels = 0;
};

} // namespace p3d
