// Waits of a block's threads for each other. When nobody is ready and somebody waits, the block has diverged.
#include "test/emulator/Kernel/ExecutorState.h"
#include <fmt/format.h>

namespace p3d::emulator {

void Executor::State::wait(Fibre &fibre, FibreState next) {
  fibre.state = next;
  switchFrom(&fibre);
}

void Executor::State::wake(Fibre &fibre, uint64_t result) {
  fibre.result = result;
  fibre.state = FibreState::Ready;
  ready.push_back(fibre.thread.linear);
}

uint32_t Executor::State::barrier(Fibre &fibre, uint32_t id, uint32_t count, uint32_t predicate) {
  if (id >= barrierCount)
    fail(fibre, fmt::format("barrier {}: there are {}", id, barrierCount));
  Barrier &barrier = barriers[id];
  uint32_t expected = count ? count : threads;
  if (barrier.arrived && barrier.expected != expected)
    fail(fibre, fmt::format("comes to barrier {} for {} threads, where {} wait for {}", id, expected, barrier.arrived,
                            barrier.expected));
  barrier.expected = expected;
  barrier.predicates += predicate;
  fibre.barrier = id;
  if (++barrier.arrived < expected) {
    wait(fibre, FibreState::AtBarrier);
    return fibre.result;
  }
  uint32_t result = barrier.predicates;
  barrier = Barrier();
  for (Fibre &other : fibres)
    if (other.state == FibreState::AtBarrier && other.barrier == id)
      wake(other, result);
  return result;
}

/// Whether all lanes of the mask that exist and have not left are there.
static bool isComplete(const Warp &warp, const Meeting &meeting) {
  return (meeting.mask & ~meeting.arrived & warp.live) == 0;
}

/// Gives each lane of a complete meeting its result, and wakes all but the one that is awake.
void Executor::State::finish(uint32_t warpIndex, size_t at, uint32_t awake) {
  Warp &warp = warps[warpIndex];
  Meeting meeting = warp.meetings[at];
  warp.meetings.erase(warp.meetings.begin() + at);
  auto op = P3dWarpOp(meeting.op);
  bool isCommon = isSameForAll(op);
  uint64_t common = isCommon ? warpResult(op, __builtin_ctz(meeting.arrived), meeting.arrived, warp.values) : 0;
  for (uint32_t lanes = meeting.arrived; lanes; lanes &= lanes - 1) {
    uint32_t lane = __builtin_ctz(lanes);
    Fibre &fibre = fibres[warpIndex * 32 + lane];
    uint64_t result = isCommon ? common : warpResult(op, lane, meeting.arrived, warp.values);
    if (lane == awake)
      fibre.result = result;
    else
      wake(fibre, result);
  }
}

uint64_t Executor::State::warp(Fibre &fibre, uint32_t op, uint32_t mask, uint64_t value, uint32_t b, uint32_t c) {
  const P3dThread &thread = fibre.thread;
  if (!(mask >> thread.lane & 1))
    fail(fibre, fmt::format("{} with the mask {:#x}, which lacks its own lane {}", warpOpName(op), mask, thread.lane));
  Warp &warp = warps[thread.warp];
  warp.values.value[thread.lane] = value;
  warp.values.b[thread.lane] = b;
  warp.values.c[thread.lane] = c;
  size_t at = 0;
  while (at < warp.meetings.size() && warp.meetings[at].mask != mask)
    ++at;
  if (at == warp.meetings.size())
    warp.meetings.push_back({mask, op, 0});
  Meeting &meeting = warp.meetings[at];
  if (meeting.op != op)
    fail(fibre, fmt::format("{} in a warp where lanes {:#x} are at a {}", warpOpName(op), meeting.arrived,
                            warpOpName(meeting.op)));
  meeting.arrived |= 1u << thread.lane;
  fibre.op = op;
  fibre.mask = mask;
  if (isComplete(warp, meeting))
    finish(thread.warp, at, thread.lane);
  else
    wait(fibre, FibreState::AtWarp);
  return fibre.result;
}

/// A thread that has returned is no longer waited for by its warp; a barrier of the block wants all threads.
void Executor::State::leave(Fibre &fibre) {
  fibre.state = FibreState::Done;
  ++done;
  Warp &warp = warps[fibre.thread.warp];
  warp.live &= ~(1u << fibre.thread.lane);
  for (size_t at = 0; at < warp.meetings.size();)
    if (isComplete(warp, warp.meetings[at]))
      finish(fibre.thread.warp, at, fibre.thread.lane);
    else
      ++at;
}

/// Says who waits for whom, and which threads have returned.
void Executor::State::reportDivergence(Dim3 block) {
  uint32_t atBarrier = 0, atWarp = 0, waiting = 0, barrierId = 0;
  Fibre *sample = nullptr, *returned = nullptr;
  for (uint32_t i = 0; i < threads; ++i) {
    Fibre &fibre = fibres[i];
    if (fibre.state == FibreState::Done && !returned)
      returned = &fibre;
    if (fibre.state == FibreState::AtBarrier)
      ++atBarrier, barrierId = fibre.barrier;
    if (fibre.state == FibreState::AtWarp)
      ++atWarp, sample = sample ? sample : &fibre;
  }
  waiting = atBarrier + atWarp;
  std::string text = fmt::format("kernel {}: block ({},{},{}): divergent wait: of {} threads", launch->kernel->name,
                                 block.x, block.y, block.z, threads);
  if (atBarrier)
    text += fmt::format(" {} wait at barrier {} (for {}),", atBarrier, barrierId, barriers[barrierId].expected);
  if (atWarp)
    text += fmt::format(" {} wait in their warp (thread {}: {} with mask {:#x}),", atWarp, sample->thread.linear,
                        warpOpName(sample->op), sample->mask);
  text += fmt::format(" {} have returned", threads - waiting);
  if (returned)
    text += fmt::format(" (thread {} is one)", returned->thread.linear);
  abandon();
  throw KernelError(text);
}

} // namespace p3d::emulator
