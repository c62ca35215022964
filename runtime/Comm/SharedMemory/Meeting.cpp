// How the members of a communicator meet.
//
// Each publishes its call, arrives, and sleeps until the collective is done: one sleep and one waking of each, which is
// what counts when ranks outnumber cores. The last to arrive does the work, in parts. If it is much, it first wakes as
// many as there are cores for it, and they claim parts too; the others sleep on. Whoever does the last part wakes all.
// The order of additions is that of the ranks, so the bits do not depend on who did the work.
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <cstring>

namespace p3d {

SharedMemoryTransport::SharedMemoryTransport(const Program &program, int rank, const Control &control, Arenas &arenas,
                                             int64_t timeoutNs)
    : program(program), rank(rank), at(program.mesh.coordinates(rank)), control(control), arenas(arenas),
      timeoutNs(timeoutNs), cores(availableCores()) {}

Communicator &SharedMemoryTransport::communicator(p3d_axis axis, int group) {
  std::unique_ptr<Communicator> &entry = groups[{axis, group}];
  if (!entry)
    entry = std::make_unique<Communicator>(control, program, rank, axis, group);
  return *entry;
}

std::vector<const char *> SharedMemoryTransport::sources(const Communicator &group) {
  std::vector<const char *> places;
  places.reserve(group.members().size());
  for (int member : group.members())
    places.push_back(arenas.base(member) + control.rank(member).call.source);
  return places;
}

std::vector<char *> SharedMemoryTransport::destinations(const Communicator &group) {
  std::vector<char *> places;
  places.reserve(group.members().size());
  for (int member : group.members())
    places.push_back(arenas.base(member) + control.rank(member).call.destination);
  return places;
}

void SharedMemoryTransport::wait(Activity activity, int waitsFor, std::atomic<uint32_t> &word,
                                 const std::function<bool()> &ready, const std::function<LateWait()> &late) {
  RankArea &area = self();
  area.waitsFor.store(waitsFor, std::memory_order_relaxed);
  area.activity.store(uint32_t(activity), std::memory_order_release);
  int64_t start = monotonicNs();
  if (!waitUntil(word, timeoutNs, ready))
    failLate(control, program, rank, late());
  waited += monotonicNs() - start;
  area.activity.store(uint32_t(Activity::Running), std::memory_order_release);
}

void SharedMemoryTransport::awaitRound(Communicator &group, const std::function<bool()> &ready) {
  wait(Activity::InCollective, -1, group.state().changes, ready, [&] { return lateCollective(timeoutNs); });
}

void SharedMemoryTransport::meet(Communicator &group, const Call &call, const Work &work) {
  self().call = call;
  group.stamp(self().call);
  int size = int(group.members().size());
  if (size == 1)
    return work.run(0, work.units);
  CommunicatorState &state = group.state();
  Division division(work, size, cores);
  int64_t start = monotonicNs(), waitedBefore = waited;
  uint32_t round = state.rounds.load(std::memory_order_acquire) + 1;
  auto isDone = [&] { return state.rounds.load(std::memory_order_acquire) == round; };
  if (state.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == uint32_t(size)) {
    checkCalls(group);
    state.arrived.store(0, std::memory_order_relaxed);
    division.open(state.parts, round);
    if (division.workers() > 1)
      signal(state.changes, division.workers() - 1);
  } else {
    awaitRound(group, [&] { return isDone() || Division::isOpen(state.parts, round); });
  }
  if (!isDone()) {
    if (division.takePart(state.parts, group.self())) {
      state.rounds.store(round, std::memory_order_release);
      signal(state.changes);
    } else {
      awaitRound(group, isDone);
    }
  }
  // Whoever did the work did it for all: to a report of slow ranks it counts as
  // the waiting of the others does.
  waited = waitedBefore + monotonicNs() - start;
}

/// Of two calls of one meeting.
static bool sameCall(const Call &a, const Call &b) {
  if (a.communicator != b.communicator || a.sequence != b.sequence || a.kind != b.kind || a.dtype != b.dtype ||
      a.reduce != b.reduce || a.outer != b.outer)
    return false;
  switch (a.kind) {
  case CallKind::AllReduce:
  case CallKind::SumScalar:
    return true;
  case CallKind::AllGather:
  case CallKind::ReduceScatter:
    return a.chunk == b.chunk && a.full == b.full && a.inner == b.inner;
  case CallKind::AllToAll:
    return a.shapeRank == b.shapeRank && a.gatherDim == b.gatherDim && a.splitDim == b.splitDim &&
           a.gatherChunk == b.gatherChunk && a.splitChunk == b.splitChunk &&
           std::memcmp(a.shape, b.shape, sizeof(a.shape)) == 0;
  }
  return false;
}

void SharedMemoryTransport::checkCalls(const Communicator &group) {
  for (int member : group.members())
    if (!sameCall(self().call, control.rank(member).call))
      internalError("the members of communicator {} issue different "
                    "collectives: {}; {}",
                    group.name(), describeRank(control, rank), describeRank(control, member));
}

void SharedMemoryTransport::sumOverNorm(double *value) {
  Communicator &group = communicator(P3D_NORM, 0);
  Call call{};
  call.kind = CallKind::SumScalar;
  call.scalar = *value;
  meet(group, call, {1, 1, 0, [&](int64_t, int64_t) {
                       double sum = 0;
                       for (int member : group.members())
                         sum += control.rank(member).call.scalar;
                       for (int member : group.members())
                         control.rank(member).call.scalar = sum;
                     }});
  *value = self().call.scalar;
}

} // namespace p3d
