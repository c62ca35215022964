// Communicators find their shared state by a key of axis, members and, where
// several tied groups have the same members, the order among them; so programs
// of different stages agree without a common numbering.
#include "runtime/Comm/SharedMemory/Communicator.h"
#include <algorithm>
#include <cstring>

namespace p3d {

std::vector<int> groupMembers(const Program &program, Coordinates at,
                              p3d_axis axis, int group) {
  switch (axis) {
  case P3D_TP:
  case P3D_DP:
  case P3D_PP:
  case P3D_TP_MAJOR:
  case P3D_TP_MINOR:
    return program.mesh.group(at, {axis});
  case P3D_NORM:
    return program.mesh.group(at, program.normAxes);
  case P3D_TIED:
    break;
  }
  if (axis != P3D_TIED || group < 0 || group >= int(program.tiedGroups.size()))
    internalError("there is no group {} of axis {}", group, int(axis));
  std::vector<int> ranks;
  for (int stage : program.tiedGroups[group])
    ranks.push_back(program.mesh.rankOf({at.tp, stage, at.dp}));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x100000001b3 + (hash >> 29);
}

static CommunicatorState *findOrClaim(RankArea &area, uint64_t key) {
  for (int i = 0; i < maxCommunicators; ++i) {
    CommunicatorState &state = area.communicators[i];
    uint64_t found = 0;
    if (state.key.compare_exchange_strong(found, key) || found == key)
      return &state;
  }
  internalError("more than {} communicators on one rank", maxCommunicators);
}

Communicator::Communicator(const Control &control, const Program &program,
                           int rank, p3d_axis axis, int group)
    : axis(axis) {
  ranks = groupMembers(program, program.mesh.coordinates(rank), axis, group);
  auto found = std::find(ranks.begin(), ranks.end(), rank);
  if (found == ranks.end())
    internalError("rank {} is no member of group {} of axis {}", rank, group,
                  axisName(axis));
  index = int(found - ranks.begin());
  text = fmt::format("{} of ranks {}", axisName(axis), listRanks(ranks));

  uint64_t ordinal = 0;
  if (axis == P3D_TIED) {
    for (int g = 0; g < group; ++g)
      ordinal += program.tiedGroups[g] == program.tiedGroups[group];
    for (int stage : program.tiedGroups[group]) {
      if (stage < 0 || stage >= std::min(maxStages, program.stages))
        internalError("tied group {} names stage {}", group, stage);
      stages[stage / 64] |= uint64_t(1) << (stage % 64);
    }
  }
  key = mix(mix(0xcbf29ce484222325, uint64_t(axis)), ordinal);
  for (int member : ranks)
    key = mix(key, uint64_t(member) + 1);
  key |= 1; // zero marks an unused entry
  shared = findOrClaim(control.rank(ranks.front()), key);
}

void Communicator::stamp(Call &call) {
  call.communicator = key;
  call.sequence = ++sequence;
  call.axis = axis;
  std::memcpy(call.stages, stages, sizeof(stages));
}

} // namespace p3d
