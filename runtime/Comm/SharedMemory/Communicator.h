// A group of ranks that meet: who its members are and the barrier they share.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/Program/Program.h"

namespace p3d {

/// The members of group number `group` of `axis` that the rank at `at` is in,
/// in the order of their index.
std::vector<int> groupMembers(const Program &program, Coordinates at,
                              p3d_axis axis, int group);

class Communicator {
public:
  /// Finds or makes the shared state of this group.
  Communicator(const Control &control, const Program &program, int rank,
               p3d_axis axis, int group);

  const std::vector<int> &members() const { return ranks; }
  int self() const { return index; }
  const std::string &name() const { return text; }
  CommunicatorState &state() const { return *shared; }

  /// Fills the fields of a call that say which meeting it belongs to.
  void stamp(Call &call);

private:
  std::vector<int> ranks;
  int index = 0;
  std::string text;
  CommunicatorState *shared = nullptr;
  uint64_t key = 0, sequence = 0;
  p3d_axis axis;
  uint64_t stages[maxStages / 64] = {};
};

} // namespace p3d
