// Which rank has which coordinates, and the groups that follow.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace p3d {

struct MeshShape {
  int64_t tp = 1, pp = 1, dp = 1;
  int64_t ranks() const { return tp * pp * dp; }
};

struct Coordinates {
  int64_t tp, pp, dp;
};

using RankGroups = std::vector<std::vector<int64_t>>;

/// The numbering of ranks: in both orders tp is fastest; then dp and pp (the default: a node holds whole stages), or pp
/// and dp.
class RankOrder {
public:
  enum Kind { TpDpPp, TpPpDp };
  RankOrder(MeshShape mesh, Kind kind) : mesh(mesh), kind(kind) {}

  /// "tp-dp-pp" and "tp-pp-dp"; nothing for another text.
  static std::optional<Kind> parse(llvm::StringRef text);
  llvm::StringRef getName() const;

  MeshShape getMesh() const { return mesh; }
  int64_t rankOf(Coordinates at) const;
  Coordinates coordinatesOf(int64_t rank) const;

  /// Groups of the ranks that differ in one coordinate alone, in its order; groups in the order of their first rank.
  RankGroups getTpGroups() const;
  /// Of each tp group the `minor` neighbours, and the ranks that stand at one place among theirs.
  RankGroups getTpMinorGroups(int64_t minor) const;
  RankGroups getTpMajorGroups(int64_t minor) const;
  RankGroups getDpGroups() const;
  RankGroups getPpGroups() const;
  /// For each tp and dp coordinate the ranks of `stages`: the copies of a parameter that these stages share.
  RankGroups getStageGroups(llvm::ArrayRef<int64_t> stages) const;
  /// For each dp coordinate all ranks of the replica: over these the gradient's norm is summed.
  RankGroups getNormGroups(bool overDp = false) const;

private:
  /// Ranks grouped by `key` of their coordinates.
  template <typename Key> RankGroups groupBy(Key key) const;

  MeshShape mesh;
  Kind kind;
};

} // namespace p3d
