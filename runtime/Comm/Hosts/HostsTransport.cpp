// Who talks to whom, and transfers: a send goes on at once, and the receiver says when it has the data, so that a rank
// is ahead of its receivers by no more than its slots.
#include "runtime/Comm/Hosts/HostsTransport.h"
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <algorithm>
#include <set>

namespace p3d {

HostsTransport::HostsTransport(const Program &program, int rank, const Control &control, Arenas &arenas,
                               int64_t timeoutNs)
    : program(program), rank(rank), at(program.mesh.coordinates(rank)), control(control), arenas(arenas),
      timeoutNs(timeoutNs), local(program, rank, control, arenas, timeoutNs),
      connections(control, rank, peers(), timeoutNs) {}

/// Whether some of the ranks do not share memory with the others.
static bool spanHosts(const Control &control, const std::vector<int> &ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return !control.shareMemory(rank, ranks.front()); });
}

/// Tied groups are parts of a pipeline, and the others of tp.
std::vector<int> HostsTransport::peers() {
  std::set<int> found;
  for (p3d_axis axis : {P3D_TP, P3D_DP, P3D_PP})
    if (std::vector<int> members = groupMembers(program, at, axis, 0); spanHosts(control, members))
      found.insert(members.begin(), members.end());
  // Their sum is the first one's to make.
  if (std::vector<int> members = groupMembers(program, at, P3D_NORM, 0); spanHosts(control, members))
    found.insert(members.begin(), rank == members.front() ? members.end() : members.begin() + 1);
  found.erase(rank);
  return {found.begin(), found.end()};
}

Communicator *HostsTransport::spanning(p3d_axis axis, int group) {
  auto [entry, isNew] = groups.try_emplace({axis, group});
  if (isNew && spanHosts(control, groupMembers(program, at, axis, group)))
    entry->second = std::make_unique<Communicator>(control, program, rank, axis, group);
  return entry->second.get();
}

void HostsTransport::wait(Activity activity, const std::vector<int> &peers, const std::function<bool()> &ready,
                          const std::function<LateWait()> &late) {
  RankArea &area = control.rank(rank);
  int waitsFor = activity == Activity::InCollective ? -1 : peers.front();
  area.waitsFor.store(waitsFor, std::memory_order_relaxed);
  area.activity.store(uint32_t(activity), std::memory_order_release);
  int64_t start = monotonicNs();
  if (!waitUntil(connections.events(), timeoutNs, ready)) {
    std::string ends;
    for (int peer : peers)
      if (std::string end = connections.end(peer); !end.empty())
        ends += fmt::format("; the connection with rank {} has ended: {}", peer, end);
    failLate(control, program, rank, late(), ends);
  }
  waited += monotonicNs() - start;
  area.activity.store(uint32_t(Activity::Running), std::memory_order_release);
}

int HostsTransport::rankOfStage(int stage) const { return program.mesh.rankOf({at.tp, stage, at.dp}); }

void HostsTransport::send(int toStage, int value, int64_t mb, int64_t slot, const void *data, int64_t bytes) {
  int to = rankOfStage(toStage);
  if (control.shareMemory(rank, to))
    return local.send(toStage, value, mb, slot, data, bytes);
  arenas.offsetOf(data, bytes, "send");
  sent.push_back({to, value, mb, slot});
  connections.send(to, {MessagePurpose::Transfer, 0, uint64_t(value), uint64_t(mb)}, 0, data, bytes);
}

void HostsTransport::receive(int fromStage, int value, int64_t mb, void *data, int64_t bytes) {
  int from = rankOfStage(fromStage);
  if (control.shareMemory(rank, from))
    return local.receive(fromStage, value, mb, data, bytes);
  arenas.offsetOf(data, bytes, "recv");
  Tag tag{MessagePurpose::Transfer, 0, uint64_t(value), uint64_t(mb)};
  connections.expect(from, tag, data, bytes);
  wait(
      Activity::Receiving, {from}, [&] { return connections.look(from, tag).isWhole; },
      [&] {
        return lateTransfer(from, timeoutNs, fmt::format("for transfer {} of microbatch {} from", value, mb));
      });
  Arrival arrival = connections.look(from, tag);
  if (arrival.bytes != bytes)
    internalError("transfer {} of microbatch {} has {} bytes on rank {} and {} on rank {}", value, mb, arrival.bytes,
                  from, bytes, rank);
  connections.take(from, tag);
  connections.send(from, {MessagePurpose::Taken, 0, uint64_t(value), uint64_t(mb)}, 0, nullptr, 0);
}

void HostsTransport::finishSendsWhere(const std::function<bool(int64_t slot)> &concerned) {
  auto kept = sent.begin();
  for (const Sent &one : sent) {
    if (!concerned(one.slot)) {
      *kept++ = one;
      continue;
    }
    Tag tag{MessagePurpose::Taken, 0, uint64_t(one.value), uint64_t(one.mb)};
    wait(
        Activity::AwaitingReceiver, {one.to}, [&] { return connections.look(one.to, tag).isWhole; },
        [&] {
          return lateTransfer(one.to, timeoutNs,
                              fmt::format("for transfer {} of microbatch {} to be received by", one.value, one.mb));
        });
    connections.take(one.to, tag);
  }
  sent.erase(kept, sent.end());
}

void HostsTransport::finishSends(int64_t slot) {
  local.finishSends(slot);
  finishSendsWhere([&](int64_t other) { return other == slot; });
}

void HostsTransport::finishAllSends() {
  local.finishAllSends();
  finishSendsWhere([](int64_t) { return true; });
}

} // namespace p3d
