// What each rank sends in a step, counted from the tasks of the stages.
#pragma once

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

/// Walks the tasks of every stage, each as often as a step runs it, and the blocks that they call.
Traffic countTraffic(mlir::ModuleOp module);

/// "f32", "bf16", "i32", "ui32".
std::string dtypeName(mlir::Type element);

/// How often a step runs a task of `kind` on `mesh`.
int64_t runsPerStep(pipe::TaskKind kind, dist::MeshAttr mesh);

} // namespace p3d
