// --timeline: one step in time, as a picture (.svg) or a trace for Perfetto (.json), and the cube of ranks.
#pragma once

#include "compiler/Cube.h"
#include "compiler/Manifest.h"
#include "compiler/StepSimulation.h"

namespace p3d {

enum class BoxKind { Forward, Backward, WeightGradient, Synchronize, Update };

/// What a stage does from `start` to `end`, in seconds from the first action on.
struct TimelineBox {
  BoxKind kind;
  std::string name; ///< "F3", "F3.1", "S"
  double start, end;
  int64_t microbatch = -1, chunk = 0; ///< of an action
};

struct TimelineStage {
  std::string layers, ranks;      ///< "layers 0-19", "ranks 0-7"
  std::vector<TimelineBox> boxes; ///< in order
};

/// A value on its way from the box of one stage to that of another.
struct TimelineTransfer {
  int64_t from, fromBox, to, toBox;
  double start, end;
};

struct Timeline {
  std::string model, schedule;
  int64_t microbatches = 0;
  bool splitsBackward = false;
  std::vector<TimelineStage> stages;
  std::vector<TimelineTransfer> transfers;
  ScheduleTiming timing;
  double end = 0; ///< of the last box
  Cube cube;
};

/// Of a scheduled module.
Timeline makeTimeline(mlir::ModuleOp scheduled, const ManifestInputs &inputs);

/// The letter of a kind, and what it is in words.
llvm::StringRef letterOf(BoxKind kind);
llvm::StringRef describe(BoxKind kind, bool splitsBackward);

void writeSvg(const Timeline &timeline, llvm::raw_ostream &os);
/// The format of Chrome's traces: a process for each stage, a complete event for each box, a flow for each transfer.
llvm::json::Object makeTrace(const Timeline &timeline);

} // namespace p3d
