#include "runtime/Comm/Nccl/IdExchange.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Train/Random.h"
#include <cstring>

namespace p3d {

static_assert(sizeof(ncclUniqueId) == sizeof(UniqueId::bytes), "an id of NCCL fits its place");

/// All members look for it by the hash of the communicator's name.
UniqueId &ControlIdExchange::entry(int first, const std::string &communicator) const {
  uint64_t key = hashName(communicator) | 1; // zero marks an unused entry
  for (UniqueId &entry : control.rank(first).uniqueIds) {
    uint64_t found = 0;
    if (entry.key.compare_exchange_strong(found, key) || found == key)
      return entry;
  }
  internalError("more than {} communicators on one rank", maxCommunicators);
}

void ControlIdExchange::give(const std::string &communicator, const ncclUniqueId &id) {
  UniqueId &place = entry(rank, communicator);
  std::memcpy(place.bytes, &id, sizeof(id));
  signal(place.isGiven);
}

ncclUniqueId ControlIdExchange::take(const std::string &communicator, int first) {
  UniqueId &place = entry(first, communicator);
  // The watchdog has the deadline.
  waitUntil(place.isGiven, -1, [&] { return place.isGiven.load(std::memory_order_acquire) != 0; });
  ncclUniqueId id;
  std::memcpy(&id, place.bytes, sizeof(id));
  return id;
}

} // namespace p3d
