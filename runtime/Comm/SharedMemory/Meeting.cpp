// How the members of a communicator meet.
//
// All arrive at a barrier, having published their call. A small collective is
// then done as a whole by the last to arrive, while the others sleep: one sleep
// each, which counts when ranks outnumber cores. A large one is divided: every
// member does its part, and a second barrier keeps buffers untouched until all
// are done. Either way the order of additions is that of the ranks, so the bits
// do not depend on who did the work.
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <cstring>

namespace p3d {

/// Bytes that are worth a second wake-up of every member.
static constexpr int64_t divideFromBytes = 256 * 1024;

SharedMemoryTransport::SharedMemoryTransport(const Program &program, int rank,
                                             const Control &control,
                                             Arenas &arenas, int64_t timeoutNs)
    : program(program), rank(rank), at(program.mesh.coordinates(rank)),
      control(control), arenas(arenas), timeoutNs(timeoutNs) {}

Communicator &SharedMemoryTransport::communicator(p3d_axis axis, int group) {
  std::unique_ptr<Communicator> &entry = groups[{axis, group}];
  if (!entry)
    entry = std::make_unique<Communicator>(control, program, rank, axis, group);
  return *entry;
}

char *SharedMemoryTransport::source(const Communicator &group, int index) {
  int member = group.members()[index];
  return arenas.base(member) + control.rank(member).call.source;
}

char *SharedMemoryTransport::destination(const Communicator &group, int index) {
  int member = group.members()[index];
  return arenas.base(member) + control.rank(member).call.destination;
}

void SharedMemoryTransport::wait(Activity activity, int waitsFor,
                                 std::atomic<uint32_t> &word,
                                 const std::function<bool()> &ready,
                                 const std::function<LateWait()> &late) {
  RankArea &area = self();
  area.waitsFor.store(waitsFor, std::memory_order_relaxed);
  area.activity.store(uint32_t(activity), std::memory_order_release);
  int64_t start = monotonicNs();
  if (!waitUntil(word, timeoutNs, ready))
    throw Error(ExitCode::RankFailure,
                describeLate(control, program, rank, late()));
  waited += monotonicNs() - start;
  area.activity.store(uint32_t(Activity::Running), std::memory_order_release);
}

void SharedMemoryTransport::barrier(Communicator &group,
                                    const std::function<void()> &atLast) {
  CommunicatorState &state = group.state();
  uint32_t generation = state.generation.load(std::memory_order_acquire);
  uint32_t before = state.arrived.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == group.members().size()) {
    atLast();
    state.arrived.store(0, std::memory_order_relaxed);
    signal(state.generation);
    return;
  }
  wait(
      Activity::InCollective, -1, state.generation,
      [&] {
        return state.generation.load(std::memory_order_acquire) != generation;
      },
      [&] { return lateCollective(timeoutNs); });
}

void SharedMemoryTransport::meet(Communicator &group, Call call, int64_t bytes,
                                 const Work &work) {
  group.stamp(call);
  self().call = call;
  int size = int(group.members().size());
  if (size == 1) {
    work(0);
  } else if (bytes * size < divideFromBytes) {
    barrier(group, [&] {
      checkCalls(group);
      for (int index = 0; index < size; ++index)
        work(index);
    });
  } else {
    barrier(group, [&] { checkCalls(group); });
    work(group.self());
    barrier(group, [] {});
  }
}

static bool sameCall(const Call &a, const Call &b) {
  return a.communicator == b.communicator && a.sequence == b.sequence &&
         a.kind == b.kind && a.dtype == b.dtype && a.reduce == b.reduce &&
         a.outer == b.outer && a.chunk == b.chunk && a.full == b.full &&
         a.inner == b.inner && a.shapeRank == b.shapeRank &&
         a.gatherDim == b.gatherDim && a.splitDim == b.splitDim &&
         a.gatherChunk == b.gatherChunk && a.splitChunk == b.splitChunk &&
         std::memcmp(a.shape, b.shape, sizeof(a.shape)) == 0;
}

void SharedMemoryTransport::checkCalls(const Communicator &group) {
  for (int member : group.members())
    if (!sameCall(self().call, control.rank(member).call))
      internalError("the members of communicator {} issue different "
                    "collectives: {}; {}",
                    group.name(), describeRank(control, rank),
                    describeRank(control, member));
}

void SharedMemoryTransport::sumOverNorm(double *value) {
  Communicator &group = communicator(P3D_NORM, 0);
  Call call{};
  call.kind = CallKind::SumScalar;
  call.scalar = *value;
  meet(group, call, 0, [&](int index) {
    if (index != 0)
      return;
    double sum = 0;
    for (int member : group.members())
      sum += control.rank(member).call.scalar;
    for (int member : group.members())
      control.rank(member).call.scalar = sum;
  });
  *value = self().call.scalar;
}

} // namespace p3d
