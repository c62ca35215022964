// How loops become part of the matrix product; see EinsumPlan.h.
#include "kernels/cpu/EinsumPlan.h"
#include <algorithm>

namespace p3d {

void LoopNest::remove(int32_t index) {
  for (--count; index < count; ++index)
    loops[index] = loops[index + 1];
}

bool LoopNest::isEmpty() const {
  for (int32_t l = 0; l < count; ++l)
    if (loops[l].extent <= 0)
      return true;
  return false;
}

int64_t LoopNest::size() const {
  int64_t all = 1;
  for (int32_t l = 0; l < count; ++l)
    all *= std::max<int64_t>(0, loops[l].extent);
  return all;
}

LoopNest::Offsets LoopNest::at(int64_t index) const {
  Offsets at;
  for (int32_t l = count - 1; l >= 0; --l) {
    int64_t i = index % loops[l].extent;
    index /= loops[l].extent;
    at = {at.a + i * loops[l].a, at.b + i * loops[l].b, at.c + i * loops[l].c};
  }
  return at;
}

/// Makes a loop part of the dimension `extent` with strides `first` and `second`: it becomes the dimension where that
/// has extent 1, and extends it where one step of the loop is `extent` steps of the dimension, or the other way round.
static bool extend(int64_t &extent, int64_t &first, int64_t &second, int64_t loopExtent, int64_t loopFirst,
                   int64_t loopSecond) {
  bool isOuter = loopFirst == extent * first && loopSecond == extent * second;
  bool isInner = first == loopExtent * loopFirst && second == loopExtent * loopSecond;
  if (!isOuter && !isInner && extent != 1)
    return false;
  if (!isOuter) {
    first = loopFirst;
    second = loopSecond;
  }
  extent *= loopExtent;
  return true;
}

static bool absorb(EinsumLoops &e, const LoopNest::Loop &loop) {
  if (loop.extent == 1)
    return true;
  if (loop.c == 0)
    return extend(e.k, e.aK, e.bK, loop.extent, loop.a, loop.b);
  if (loop.b == 0 && extend(e.m, e.aM, e.cM, loop.extent, loop.a, loop.c))
    return true;
  return loop.a == 0 && extend(e.n, e.bN, e.cN, loop.extent, loop.b, loop.c);
}

static bool absorbOne(EinsumLoops &e, LoopNest &nest) {
  for (int32_t l = nest.count - 1; l >= 0; --l)
    if (absorb(e, nest.loops[l])) {
      nest.remove(l);
      return true;
    }
  return false;
}

EinsumLoops absorbLoops(const p3d_einsum_plan &plan) {
  EinsumLoops e = {{}, {}, plan.m, plan.n, plan.k, plan.aM, plan.aK, plan.bK, plan.bN, plan.cM, plan.cN};
  for (int32_t l = 0; l < plan.loopCount; ++l) {
    LoopNest &nest = plan.cLoop[l] == 0 ? e.summed : e.kept;
    nest.add({plan.extent[l], plan.aLoop[l], plan.bLoop[l], plan.cLoop[l]});
  }
  while (absorbOne(e, e.summed) || absorbOne(e, e.kept)) {
  }
  return e;
}

} // namespace p3d
