// Keeps the control regions of several launchers alike where ranks and reports need it: what the ranks of this launcher
// publish goes to others, what others say goes into this one's region.
#pragma once
#include "runtime/tools/p3d-run/Cluster/Link.h"
#include "runtime/tools/p3d-run/Cluster/Placement.h"
#include <set>
#include <vector>

namespace p3d {

/// Who is to get what has changed.
using Targets = std::vector<Link *>;

class Mirror {
public:
  Mirror(const Control &control, const Placement &placement);

  /// Of the ranks from `first` on.
  void sendEndpoints(const Targets &targets, int first, int count) const;
  /// Devices that are ready, and ids of communicators.
  void sendStart(const Targets &targets);
  /// What is written of checkpoints.
  void sendSaved(const Targets &targets);
  /// Steps done.
  void sendRecords(const Targets &targets);
  void sendPlaces(const Targets &targets) const;

  /// Puts what a message says into the region; false for messages that are about something else. An internal error for
  /// one that is damaged.
  bool apply(MessageKind kind, const std::string &data);
  /// The same for where a rank is, which a launcher says that is at `address`.
  void applyEndpoint(const std::string &data, const std::string &address) const;
  /// What is added to the clock of records that are sent.
  void setClockOffset(int64_t ns) { clockOffsetNs = ns; }

private:
  void sendIds(int rank, const Targets &targets);

  const Control &control;
  const Placement &placement;
  std::vector<bool> sentReady;
  std::vector<uint32_t> sentRecords;
  std::vector<int64_t> sentSaved;
  std::set<std::pair<int, uint64_t>> sentIds; ///< by rank and key
  int64_t clockOffsetNs = 0;
};

/// The message in `data`, its texts ended; an internal error if it has another size.
template <typename Message> Message decode(const std::string &data);

/// An internal error unless `rank` is one of the world.
void checkRank(const Control &control, int rank);

} // namespace p3d
