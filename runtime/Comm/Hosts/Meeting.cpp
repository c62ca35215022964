#include "runtime/Comm/Hosts/Meeting.h"
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <algorithm>

namespace p3d {

/// Of what all members have to agree on.
static uint64_t hashOf(const Call &call) {
  uint64_t hash = 0xcbf29ce484222325;
  auto mix = [&](int64_t value) { hash = (hash ^ uint64_t(value)) * 0x100000001b3 + (hash >> 29); };
  for (int64_t value : {int64_t(call.kind), int64_t(call.dtype), int64_t(call.reduce), call.outer, call.chunk,
                        call.full, call.inner, int64_t(call.shapeRank), int64_t(call.gatherDim),
                        int64_t(call.splitDim), call.gatherChunk, call.splitChunk})
    mix(value);
  for (int64_t extent : call.shape)
    mix(extent);
  return hash;
}

HostsTransport::Meeting::Meeting(HostsTransport &transport, Communicator &group, const Call &given)
    : transport(transport), group(group), call(given), callHash(hashOf(given)) {
  group.stamp(call);
  transport.control.rank(transport.rank).call = call;
}

void HostsTransport::Meeting::send(int member, uint32_t part, const void *data, int64_t bytes) {
  peers.push_back(group.members()[member]);
  transport.connections.send(peers.back(), tag(part), callHash, data, bytes);
}

void HostsTransport::Meeting::expect(int member, uint32_t part, void *data, int64_t bytes) {
  peers.push_back(group.members()[member]);
  expected.push_back({peers.back(), tag(part), bytes});
  transport.connections.expect(peers.back(), expected.back().tag, data, bytes);
}

bool HostsTransport::Meeting::isThere(const Part &part) const {
  Arrival arrival = transport.connections.look(part.peer, part.tag);
  if (!arrival.isWhole)
    return false;
  if (arrival.check != callHash || arrival.bytes != part.bytes)
    internalError("the members of communicator {} issue different collectives: {}; {}", group.name(),
                  describeRank(transport.control, transport.rank), describeRank(transport.control, part.peer));
  return true;
}

void HostsTransport::Meeting::wait(std::vector<Part> missing, bool forSent) {
  transport.wait(
      Activity::InCollective, peers,
      [&] {
        missing.erase(std::remove_if(missing.begin(), missing.end(), [this](const Part &part) { return isThere(part); }),
                      missing.end());
        return missing.empty() && (!forSent || transport.connections.isAllSent());
      },
      [&] { return lateCollective(transport.timeoutNs); });
}

void HostsTransport::Meeting::await(uint32_t number) {
  std::vector<Part> wanted;
  for (const Part &part : expected)
    if (part.tag.part == number)
      wanted.push_back(part);
  wait(wanted, false);
}

void HostsTransport::Meeting::finish() {
  wait(expected, true);
  for (const Part &part : expected)
    transport.connections.take(part.peer, part.tag);
  expected.clear();
  peers.clear();
}

} // namespace p3d
