// Ranks and coordinates; tp is always the fastest axis.
#include "runtime/Program/Mesh.h"
#include "runtime/Error.h"
#include <algorithm>

namespace p3d {

const char *axisName(p3d_axis axis) {
  switch (axis) {
  case P3D_TP:
    return "tp";
  case P3D_DP:
    return "dp";
  case P3D_PP:
    return "pp";
  case P3D_TIED:
    return "tied";
  case P3D_NORM:
    return "norm";
  }
  internalError("axis number {} is not one of runtime.h", int(axis));
}

int Coordinates::along(p3d_axis axis) const {
  if (axis == P3D_TP)
    return tp;
  if (axis == P3D_DP)
    return dp;
  if (axis == P3D_PP)
    return pp;
  internalError("the group {} is no axis of the mesh", axisName(axis));
}

int Mesh::along(p3d_axis axis) const {
  return Coordinates{tp, pp, dp}.along(axis);
}

int Mesh::rankOf(Coordinates at) const {
  if (ppBeforeDp)
    return at.tp + tp * (at.pp + pp * at.dp);
  return at.tp + tp * (at.dp + dp * at.pp);
}

Coordinates Mesh::coordinates(int rank) const {
  int rest = rank / tp;
  if (ppBeforeDp)
    return {rank % tp, rest % pp, rest / pp};
  return {rank % tp, rest / dp, rest % dp};
}

std::vector<int> Mesh::group(Coordinates at,
                             const std::vector<p3d_axis> &axes) const {
  auto varies = [&](p3d_axis axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank) {
    Coordinates other = coordinates(rank);
    if ((varies(P3D_TP) || other.tp == at.tp) &&
        (varies(P3D_PP) || other.pp == at.pp) &&
        (varies(P3D_DP) || other.dp == at.dp))
      members.push_back(rank);
  }
  return members;
}

std::string listRanks(const std::vector<int> &ranks) {
  std::string text;
  for (size_t first = 0, last = 0; first < ranks.size(); first = last + 1) {
    last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[first]);
    if (last > first)
      text += fmt::format("{}{}", last > first + 1 ? "-" : ", ", ranks[last]);
  }
  return text.empty() ? "none" : text;
}

} // namespace p3d
