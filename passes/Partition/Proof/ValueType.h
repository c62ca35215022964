// What a local value is of a whole one: the types of the proof that a partitioned program is right.
//
// Over each axis of the mesh a value is cut (a dimension is), partial, or replicated. Types are inferred forward from
// the declared ones of the program's arguments, by what each op and each collective means; nothing here knows how the
// program was partitioned.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include <array>
#include <optional>

namespace p3d::partition::proof {

/// The axes of types. Where the mesh takes tp apart, types name its parts only: tp is tp_major and then tp_minor.
inline constexpr std::array<dist::Axis, 6> kAxes = {dist::Axis::TP, dist::Axis::TPMajor, dist::Axis::TPMinor,
                                                    dist::Axis::DP, dist::Axis::PP,      dist::Axis::MB};

/// What `axes` are in types.
llvm::SmallVector<dist::Axis, 2> axesInTypes(llvm::ArrayRef<dist::Axis> axes, dist::MeshAttr mesh);
/// The other way round: as attributes are written.
llvm::SmallVector<dist::Axis, 2> axesInAttributes(llvm::ArrayRef<dist::Axis> axes);

/// One dimension: rows [i * chunk, (i + 1) * chunk) of `full` on shard i of `axes`, the major one first; chunk is full
/// where nothing cuts it.
struct DimType {
  llvm::SmallVector<dist::Axis, 2> axes;
  int64_t chunk = 1, full = 1;
  /// What stands in rows beyond the end of the whole; nullopt for anything, also NaN.
  std::optional<double> padding;

  static DimType whole(int64_t size) { return {{}, size, size, {}}; }
  bool isCut() const { return !axes.empty(); }
  bool isCutBy(dist::Axis axis) const { return llvm::is_contained(axes, axis); }
  bool liesAs(const DimType &other) const { return axes == other.axes && chunk == other.chunk && full == other.full; }
  int64_t parts(dist::MeshAttr mesh) const;
  /// Whether some shard has rows beyond the end.
  bool isUneven(dist::MeshAttr mesh) const { return parts(mesh) * chunk != full; }
};

struct ValueType {
  llvm::SmallVector<DimType, 3> dims;
  /// For each axis how the ranks' parts are combined into the value, where they are parts.
  std::array<std::optional<dist::ReduceKind>, 7> partial;

  std::optional<dist::ReduceKind> &partialOver(dist::Axis axis) { return partial[unsigned(axis)]; }
  const std::optional<dist::ReduceKind> &partialOver(dist::Axis axis) const { return partial[unsigned(axis)]; }
  /// The dimension that `axis` cuts, or -1.
  int dimOf(dist::Axis axis) const;
  bool isWhole() const;
  /// Whether the value is not the same in each microbatch.
  bool variesOver(dist::Axis axis) const { return partialOver(axis) || dimOf(axis) >= 0; }
  /// Alike but for padding.
  bool liesAs(const ValueType &other) const;
};

/// The type that a declaration says, of a tensor whose whole shape is `global`.
ValueType declaredType(dist::ShardingAttr sharding, llvm::ArrayRef<int64_t> global, dist::MeshAttr mesh);
/// The dimension that `shard` says.
DimType declaredDim(dist::ShardAttr shard, dist::MeshAttr mesh);

/// "cut over {tp} into 16 of 61", "whole, 61".
std::string describe(const DimType &dim);
/// As shardings are written, with whole sizes: "[{dp,mb}:4 of 16, 32] partial sum over {tp}".
std::string describe(const ValueType &type);

} // namespace p3d::partition::proof
