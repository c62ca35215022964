// How the members of a communicator come by its unique id.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include <nccl.h>

namespace p3d {

class IdExchange {
public:
  virtual ~IdExchange() = default;
  /// Gives `id` to the other members; called by the first one only.
  virtual void give(const std::string &communicator, const ncclUniqueId &id) = 0;
  /// Waits for the id that the member `first` gives.
  virtual ncclUniqueId take(const std::string &communicator, int first) = 0;
};

/// Through the control region, in the area of the first member.
class ControlIdExchange : public IdExchange {
public:
  ControlIdExchange(const Control &control, int rank) : control(control), rank(rank) {}
  void give(const std::string &communicator, const ncclUniqueId &id) override;
  ncclUniqueId take(const std::string &communicator, int first) override;

private:
  UniqueId &entry(int first, const std::string &communicator) const;
  const Control &control;
  int rank;
};

} // namespace p3d
