// The cube: which node and device holds which coordinates of the mesh, and which layers.
#pragma once

#include "compiler/RankOrder.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Support/Cluster.h"
#include "llvm/Support/raw_ostream.h"

namespace p3d {

struct CubeCell {
  int64_t rank, node, device;
  Coordinates at;
};

struct Cube {
  MeshShape mesh;
  int64_t devicesPerNode;
  std::vector<CubeCell> cells;     ///< in the order of the ranks
  std::vector<std::string> layers; ///< of each stage: "layers 0-19", "no layers"

  /// The ranks of a stage: "ranks 0-7", "ranks 0-3, 16-19".
  std::string ranksText(int64_t stage) const;
};

/// Of a module with stages. `cluster` is of known size.
Cube makeCube(mlir::ModuleOp module, RankOrder::Kind rankOrder, const Cluster &cluster);
/// One line for each run of ranks of one node that differ in tp alone.
void printCube(const Cube &cube, llvm::raw_ostream &os);

} // namespace p3d
