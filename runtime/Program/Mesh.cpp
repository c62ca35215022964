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
  case P3D_TP_MAJOR:
    return "tp_major";
  case P3D_TP_MINOR:
    return "tp_minor";
  }
  internalError("axis number {} is not one of runtime.h", int(axis));
}

bool covers(const std::vector<p3d_axis> &axes, p3d_axis axis) {
  bool isPart = axis == P3D_TP_MAJOR || axis == P3D_TP_MINOR;
  return std::any_of(axes.begin(), axes.end(), [&](p3d_axis other) {
    return other == axis || (isPart && other == P3D_TP);
  });
}

int Mesh::along(p3d_axis axis, Coordinates at) const {
  switch (axis) {
  case P3D_TP:
    return at.tp;
  case P3D_DP:
    return at.dp;
  case P3D_PP:
    return at.pp;
  case P3D_TP_MAJOR:
    return at.tp / tpMinor;
  case P3D_TP_MINOR:
    return at.tp % tpMinor;
  case P3D_TIED:
  case P3D_NORM:
    break;
  }
  internalError("the group {} is no axis of the mesh", axisName(axis));
}

int Mesh::along(p3d_axis axis) const {
  return along(axis, {tp - 1, pp - 1, dp - 1}) + 1;
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
  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank) {
    Coordinates other = coordinates(rank);
    auto isAlike = [&](p3d_axis axis) {
      return covers(axes, axis) || along(axis, other) == along(axis, at);
    };
    if (isAlike(P3D_TP_MAJOR) && isAlike(P3D_TP_MINOR) && isAlike(P3D_PP) &&
        isAlike(P3D_DP))
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
