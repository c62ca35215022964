// The work of a collective, and how its members share it: parts that whoever is awake claims one after the other.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include <functional>

namespace p3d {

/// What is to be done once all members have arrived: units that are independent of each other, which any member may do.
struct Work {
  int64_t units;
  int64_t grain;       ///< units that stay together, so that two members do not write to the same cache line
  int64_t bytesOfUnit; ///< read and written
  std::function<void(int64_t begin, int64_t end)> run;
};

/// Processors that this process may run on.
int availableCores();

/// How the work is divided, which all members compute alike but for the number of workers.
class Division {
public:
  Division(const Work &work, int members, int cores);

  /// Members that are worth waking for this work, the one that opens it included.
  int workers() const { return workerCount; }
  /// Lets members claim parts of it under the number `round`; all have arrived and none is still in the last one.
  void open(SharedParts &shared, uint32_t round) const;
  static bool isOpen(const SharedParts &shared, uint32_t round) {
    return shared.round.load(std::memory_order_acquire) == round;
  }
  /// Claims parts and does them until none is left, first those that member `index` has always had: so that a process
  /// touches few pages of its peers. Returns whether it did the last one that was missing.
  bool takePart(SharedParts &shared, int index) const;

private:
  uint32_t firstOf(int worker, int workers) const { return uint32_t(parts * worker / workers); }

  const Work &work;
  const int members;
  int workerCount;
  int64_t unitsOfPart, parts;
};

} // namespace p3d
