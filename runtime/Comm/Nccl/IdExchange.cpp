#include "runtime/Comm/Nccl/IdExchange.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Train/Random.h"
#include <cstring>

namespace p3d {

static_assert(sizeof(ncclUniqueId) == sizeof(UniqueId::bytes), "an id of NCCL fits its place");

/// All members look for it by the hash of the communicator's name.
UniqueId &ControlIdExchange::entry(int first, const std::string &communicator) const {
  return control.uniqueId(first, hashName(communicator) | 1); // zero marks an unused entry
}

void ControlIdExchange::give(const std::string &communicator, const ncclUniqueId &id) {
  UniqueId &place = entry(rank, communicator);
  std::memcpy(place.bytes, &id, sizeof(id));
  signal(place.isGiven);
  control.wakeLauncher();
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
