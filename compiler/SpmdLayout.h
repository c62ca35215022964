// Where the elements of a tensor are on a mesh: shards cut from whole tensors and whole tensors put together from shards.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/Interpreter.h"
#include <optional>

namespace p3d::spmd {

/// Ranks at the level partition, tp fastest, then dp; pp cuts nothing before stages are cut.
inline size_t ranksOf(dist::MeshAttr mesh) { return mesh.getTp() * mesh.getDp(); }

/// A rank in the turn of a microbatch.
struct Place {
  int64_t tp, dp, mb;

  static Place ofRank(size_t rank, int64_t microbatch, dist::MeshAttr mesh);
  int64_t indexOn(dist::Axis axis, dist::MeshAttr mesh) const;
  /// The place that differs in its index on `axis` alone.
  Place movedTo(dist::Axis axis, int64_t index, dist::MeshAttr mesh) const;
  /// The number of the shard that it holds of a dimension cut over `axes`, the major one first.
  int64_t indexOn(llvm::ArrayRef<dist::Axis> axes, dist::MeshAttr mesh) const;
  std::string describe() const;
};

/// The ranks that differ from `rank` on `axis` alone, in order, with it.
llvm::SmallVector<size_t> peersOf(size_t rank, dist::Axis axis, dist::MeshAttr mesh);

/// Rows [start, start + count) of dimension `dim`; those beyond the end are zero.
graph::Tensor rowsOf(const graph::Tensor &whole, int64_t dim, int64_t start, int64_t count);
/// Puts `rows` at row `start` of dimension `dim` of `whole`, as far as there is room.
void placeRows(graph::Tensor &whole, int64_t dim, int64_t start, const graph::Tensor &rows);
/// Sets the rows of dimension `dim` from `start` on to `value`, in integers the nearest that their type has.
void fillRows(graph::Tensor &tensor, int64_t dim, int64_t start, double value);

/// What `place` holds of `whole`; padding is NaN or a large integer.
graph::Tensor shardOf(const graph::Tensor &whole, dist::ShardingAttr sharding, const Place &place, dist::MeshAttr mesh);

/// A whole tensor that is put together from what every place has.
class Assembly {
public:
  Assembly(mlir::RankedTensorType type, dist::ShardingAttr sharding, dist::MeshAttr mesh) : whole(type), sharding(sharding), mesh(mesh) {}

  /// Places come in the order of their microbatch, then of their rank.
  void add(const Place &place, graph::Tensor shard);
  /// Fills `whole`. Says what is wrong where places disagree, or where padding is not zero although `isPaddedWithZeros`.
  std::optional<std::string> finish(bool isPaddedWithZeros);

  graph::Tensor whole;

private:
  dist::ShardingAttr sharding;
  dist::MeshAttr mesh;
  /// Of the places that are the first of those whose values are reduced.
  std::vector<std::pair<Place, graph::Tensor>> shards;
};

} // namespace p3d::spmd
