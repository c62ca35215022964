#include "test/emulator/Kernel/Warp.h"
#include <algorithm>

namespace p3d::emulator {

/// PTX ISA, shfl.sync: c holds the clamp in bits 0-4 and the mask of the segment in bits 8-12.
static uint64_t shuffle(P3dWarpOp op, uint32_t lane, uint32_t lanes, const WarpValues &values) {
  uint32_t offset = values.b[lane] & 31, clamp = values.c[lane] & 31, segment = (values.c[lane] >> 8) & 31;
  uint32_t limit = (lane & segment) | (clamp & ~segment), source = lane;
  bool isValid = false;
  if (op == P3dShuffleUp) {
    source = lane - offset;
    isValid = int(source) >= int(limit);
  } else if (op == P3dShuffleDown) {
    source = lane + offset;
    isValid = source <= limit;
  } else if (op == P3dShuffleXor) {
    source = lane ^ offset;
    isValid = source <= limit;
  } else {
    source = (lane & segment) | (offset & ~segment);
    isValid = source <= limit;
  }
  if (!isValid)
    source = lane;
  uint32_t value = lanes >> source & 1 ? values.value[source] : ~0u;
  return uint64_t(isValid) << 32 | value;
}

template <typename Combine> static uint32_t reduce(uint32_t lanes, const WarpValues &values, Combine combine) {
  uint32_t first = __builtin_ctz(lanes), result = values.value[first];
  for (uint32_t lane = first + 1; lane < 32; ++lane)
    if (lanes >> lane & 1)
      result = combine(result, uint32_t(values.value[lane]));
  return result;
}

/// The lanes whose value equals `value`.
static uint32_t equalLanes(uint64_t value, uint32_t lanes, const WarpValues &values) {
  uint32_t equal = 0;
  for (uint32_t lane = 0; lane < 32; ++lane)
    equal |= uint32_t((lanes >> lane & 1) && values.value[lane] == value) << lane;
  return equal;
}

uint64_t warpResult(P3dWarpOp op, uint32_t lane, uint32_t lanes, const WarpValues &values) {
  auto signedOf = [](uint32_t value) { return int32_t(value); };
  switch (op) {
  case P3dSyncWarp:
    return 0;
  case P3dShuffleUp:
  case P3dShuffleDown:
  case P3dShuffleXor:
  case P3dShuffleIndex:
    return shuffle(op, lane, lanes, values);
  case P3dVoteAll:
    return equalLanes(1, lanes, values) == lanes;
  case P3dVoteAny:
    return equalLanes(1, lanes, values) != 0;
  case P3dVoteUniform:
    return equalLanes(values.value[lane], lanes, values) == lanes;
  case P3dVoteBallot:
    return equalLanes(1, lanes, values);
  case P3dMatchAny:
    return equalLanes(values.value[lane], lanes, values);
  case P3dMatchAll:
    return equalLanes(values.value[lane], lanes, values) == lanes ? uint64_t(1) << 32 | lanes : 0;
  case P3dReduceAdd:
    return reduce(lanes, values, [](uint32_t a, uint32_t b) { return a + b; });
  case P3dReduceMin:
    return reduce(lanes, values, [&](uint32_t a, uint32_t b) { return signedOf(a) < signedOf(b) ? a : b; });
  case P3dReduceMax:
    return reduce(lanes, values, [&](uint32_t a, uint32_t b) { return signedOf(a) > signedOf(b) ? a : b; });
  case P3dReduceUMin:
    return reduce(lanes, values, [](uint32_t a, uint32_t b) { return std::min(a, b); });
  case P3dReduceUMax:
    return reduce(lanes, values, [](uint32_t a, uint32_t b) { return std::max(a, b); });
  case P3dReduceAnd:
    return reduce(lanes, values, [](uint32_t a, uint32_t b) { return a & b; });
  case P3dReduceOr:
    return reduce(lanes, values, [](uint32_t a, uint32_t b) { return a | b; });
  case P3dReduceXor:
    return reduce(lanes, values, [](uint32_t a, uint32_t b) { return a ^ b; });
  }
  return 0;
}

bool isSameForAll(P3dWarpOp op) {
  return op == P3dSyncWarp || op == P3dVoteAll || op == P3dVoteAny || op == P3dVoteUniform || op == P3dVoteBallot ||
         op == P3dMatchAll || op >= P3dReduceAdd;
}

const char *warpOpName(uint32_t op) {
  static const char *const names[] = {"syncwarp",    "shuffle up", "shuffle down", "shuffle xor", "shuffle",
                                      "vote all",    "vote any",   "vote uniform", "ballot",      "match any",
                                      "match all",   "reduce add", "reduce min",   "reduce max",  "reduce umin",
                                      "reduce umax", "reduce and", "reduce or",    "reduce xor"};
  return op < sizeof(names) / sizeof(*names) ? names[op] : "?";
}

} // namespace p3d::emulator
