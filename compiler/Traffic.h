// What each rank sends in a step, counted from the tasks of the stages.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace p3d {

/// All collectives of one kind, axis, phase, stage and element type, per rank and step. `bytes` is the ring volume that a rank sends.
struct CollectiveTraffic {
  std::string kind, axis, phase;
  int64_t stage;
  std::string dtype;
  int64_t count, bytes;
};

/// All transfers from one stage to another, per rank and step.
struct TransferTraffic {
  int64_t from, to, count, bytes;
};

struct Traffic {
  std::vector<CollectiveTraffic> collectives;
  std::vector<TransferTraffic> transfers;
};

/// One collective or transfer of the program, at one place in one task of one stage.
struct Message {
  pipe::StageOp stage;
  pipe::TaskKind task;
  int64_t chunk;
  mlir::Operation *op;    ///< null for the sum of the gradient's norm, which the runtime makes
  graph::CallOp call;     ///< of the block that it stands in; null in the task itself
  std::string kind;       ///< all_reduce, all_gather, reduce_scatter, all_to_all, or send
  std::string axis;       ///< tp, dp, pp, tied, norm
  int64_t ranks;          ///< of its group
  mlir::Type type;        ///< of the whole tensor; of several, that of the last
  int64_t times;          ///< in a step
  int64_t tensorBytes;    ///< of the whole tensor, each time
  int64_t bytes;          ///< the ring volume that a rank sends, all times
  int64_t to = -1;        ///< the stage that a transfer goes to

  llvm::StringRef getPhase() const;
};

/// Walks the tasks of every stage, each as often as a step runs it, and the blocks that they call. Groups of one rank send nothing and are left out.
void forEachMessage(mlir::ModuleOp module, llvm::function_ref<void(const Message &)> visit);

/// The sums of all messages.
Traffic countTraffic(mlir::ModuleOp module);

/// Whether the replicas each update a share of the parameters, so that the norm of the gradient is a sum over them too.
bool isSharedByReplicas(mlir::ModuleOp module);

/// "f32", "bf16", "i32", "ui32".
std::string dtypeName(mlir::Type element);

/// How often a step runs a task of `kind` on `mesh`.
int64_t runsPerStep(pipe::TaskKind kind, dist::MeshAttr mesh);

} // namespace p3d
