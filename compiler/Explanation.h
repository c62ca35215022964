// --explain: every collective and transfer of a scheduled program, what it costs, why it is there, what would remove it.
//
// As JSON, version 1: `model`, `mesh`, `microbatches`, `cluster` {name, nodes, devices_per_node}, and three arrays.
// - `messages`, an object for each place of the program in each stage: `kind` (all_reduce, all_gather, reduce_scatter,
//   all_to_all or send), `axis` (tp, dp, pp, tied or norm), `phase` (prologue, forward, backward or update), `stage`,
//   `to` (the stage that a send goes to), `block` (empty outside of blocks), `layers`; per rank and step `count`,
//   `bytes` (as in the manifest) and `seconds`; `dtype` and `shape` of the whole tensor (null for several tensors in
//   one message); `reason`, `remedy`, `location` (FILE:LINE) and `parameters` (numbers that differ are a *).
// - `padding`, for each dimension that tp cuts unevenly: `dimension`, `units`, `parts`, `rows` (units of a rank),
//   `padded` (parts x rows), `extra` (padded / units - 1), `reason`, `remedy` and `parameters`.
// - `totals`: `axis`, `phase`, `stage`, `count`, `bytes`, `seconds`.
#pragma once

#include "compiler/Manifest.h"
#include "compiler/Traffic.h"
#include "passes/Support/Reason.h"

namespace p3d {

/// Of one rank of a stage in a step.
struct Share {
  int64_t count = 0, bytes = 0;
  double seconds = 0;
  llvm::SmallVector<int64_t> layers;
  int64_t to = -1; ///< the stage that a transfer goes to

  Share &operator+=(const Share &other);
};

/// What one place of the program sends; the same in several stages if they share its block.
struct Line {
  std::string kind, axis, phase, block, dtype;
  llvm::SmallVector<int64_t> shape;
  int64_t tensors = 0; ///< in all stages, each time; `shape` holds for a single one
  Reason reason;
  std::string location;
  std::map<int64_t, Share> stages;
};

/// A dimension that tp cannot cut evenly.
struct Padding {
  std::string dimension;
  int64_t units, parts, rows;
  Reason reason;

  int64_t padded() const { return parts * rows; }
  double extra() const { return double(padded()) / units - 1; }
};

struct Explanation {
  std::vector<Line> lines; ///< of prologue and blocks in the order of the program, then what stands outside of blocks
  std::vector<Padding> paddings;
};

Explanation explain(mlir::ModuleOp scheduled, const ManifestInputs &inputs);

void printText(const Explanation &explanation, mlir::ModuleOp scheduled, const ManifestInputs &inputs,
               llvm::raw_ostream &os);
llvm::json::Object toJson(const Explanation &explanation, mlir::ModuleOp scheduled, const ManifestInputs &inputs);

} // namespace p3d
