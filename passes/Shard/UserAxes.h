// The axes of the mesh that the model's annotations name, and what each stands for here.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "dialects/StableHLO/StableHLO.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace p3d::shard {

class UserAxes {
public:
  UserAxes(mlir::ModuleOp module, dist::MeshAttr mesh) : module(module), mesh(mesh) {}

  /// Notes the axes of `sharding` and of its mesh.
  void note(sdy::TensorShardingAttr sharding);
  /// Notes that an axis shards the batch.
  void noteBatch(sdy::AxisRefAttr axis) { axes[axis.getName()].shardsBatch = true; }
  /// An axis that shards the batch stands for dp, any other for tp. Where none is known to, the size decides: of several axes the one that is as large as tp stands for tp,
  /// else all but the first.
  void decide();

  dist::Axis of(sdy::AxisRefAttr axis) const { return axes.lookup(axis.getName()).standsFor; }
  /// "data" (2) stands for dp, "model" (4) for tp
  std::string describe() const;
  bool empty() const { return axes.empty(); }

private:
  struct UserAxis {
    int64_t size = 0;
    bool shardsBatch = false;
    dist::Axis standsFor = dist::Axis::TP;
  };

  mlir::ModuleOp module;
  dist::MeshAttr mesh;
  llvm::MapVector<llvm::StringRef, UserAxis> axes; ///< in the order of their mesh
};

} // namespace p3d::shard
