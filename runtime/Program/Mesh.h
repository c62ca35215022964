// The cube of ranks: coordinates of a rank and the members of its groups.
#pragma once
#include "runtime/include/p3d/runtime.h"
#include <cstdint>
#include <string>
#include <vector>

namespace p3d {

struct Coordinates {
  int tp = 0, pp = 0, dp = 0;
};

struct Mesh {
  int tp = 1, pp = 1, dp = 1;
  bool ppBeforeDp = false; ///< rank order tp-pp-dp instead of tp-dp-pp
  int tpMinor = 1; ///< ranks of tp_minor: neighbours on tp that hold some parts together

  int size() const { return tp * pp * dp; }
  /// Its size.
  int along(p3d_axis axis) const;
  /// The coordinate of the rank at `at`.
  int along(p3d_axis axis, Coordinates at) const;
  int rankOf(Coordinates at) const;
  Coordinates coordinates(int rank) const;
  /// The ranks that differ from `at` only along `axes`, by rank.
  std::vector<int> group(Coordinates at,
                         const std::vector<p3d_axis> &axes) const;
};

/// "tp", "dp", "pp", "tied", "norm", "tp_major" or "tp_minor".
const char *axisName(p3d_axis axis);

/// Whether `axes` name `axis` or what it is part of.
bool covers(const std::vector<p3d_axis> &axes, p3d_axis axis);

/// "0-3, 8": for messages.
std::string listRanks(const std::vector<int> &ranks);

} // namespace p3d
