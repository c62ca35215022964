// A meeting of the members of a group that spans hosts.
#pragma once
#include "runtime/Comm/Hosts/HostsTransport.h"

namespace p3d {

/// Members are numbered as in the group. Each part has a number that sender and receiver agree on; between two members
/// no two parts of a meeting have the same.
class HostsTransport::Meeting {
public:
  /// Publishes the call.
  Meeting(HostsTransport &transport, Communicator &group, const Call &call);

  int size() const { return int(group.members().size()); }
  int self() const { return group.self(); }

  void send(int member, uint32_t part, const void *data, int64_t bytes);
  void expect(int member, uint32_t part, void *data, int64_t bytes);
  /// Waits for the parts of this number that were expected.
  void await(uint32_t part);
  /// Waits for all that was expected, and for what was sent to have left.
  void finish();

private:
  struct Part {
    int peer;
    Tag tag;
    int64_t bytes;
  };
  Tag tag(uint32_t part) const { return {MessagePurpose::Part, part, call.communicator, call.sequence}; }
  bool isThere(const Part &part) const;
  void wait(std::vector<Part> missing, bool forSent);

  HostsTransport &transport;
  Communicator &group;
  Call call;
  uint64_t callHash;
  std::vector<Part> expected;
  std::vector<int> peers; ///< that something goes to or comes from
};

} // namespace p3d
