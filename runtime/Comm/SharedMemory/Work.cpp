// Divides work by the bytes that it touches.
#include "runtime/Comm/SharedMemory/Work.h"
#include <algorithm>
#include <sched.h>

namespace p3d {

/// Bytes that take about as long as waking a member to help.
static constexpr int64_t bytesOfWorker = 512 * 1024;
/// Small enough that all end at the same time, large enough that claiming costs nothing.
static constexpr int64_t bytesOfPart = 256 * 1024;

int availableCores() {
  cpu_set_t cores;
  // A machine of more than 1024 processors refuses a set of this size.
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : CPU_SETSIZE;
}

Division::Division(const Work &work, int members, int cores) : work(work), members(members) {
  int64_t most = std::min({members, cores, maxWorkers});
  workerCount = int(std::clamp<int64_t>(work.units * work.bytesOfUnit / bytesOfWorker, 1, most));
  int64_t units = std::max<int64_t>(bytesOfPart / std::max<int64_t>(work.bytesOfUnit, 1), 1);
  unitsOfPart = (units + work.grain - 1) / work.grain * work.grain;
  parts = std::max<int64_t>((work.units + unitsOfPart - 1) / unitsOfPart, 1);
}

void Division::open(SharedParts &shared, uint32_t round) const {
  shared.workers = workerCount;
  shared.left.store(uint32_t(parts), std::memory_order_relaxed);
  for (int worker = 0; worker < workerCount; ++worker)
    shared.next[worker].store(firstOf(worker, workerCount), std::memory_order_relaxed);
  shared.round.store(round, std::memory_order_release);
}

bool Division::takePart(SharedParts &shared, int index) const {
  const int workers = shared.workers, home = index * workers / members;
  bool didLast = false;
  for (int i = 0; i < workers; ++i) {
    int worker = (home + i) % workers;
    uint32_t end = firstOf(worker + 1, workers);
    for (uint32_t part; (part = shared.next[worker].fetch_add(1, std::memory_order_relaxed)) < end;) {
      int64_t begin = part * unitsOfPart;
      work.run(begin, std::min(begin + unitsOfPart, work.units));
      didLast = shared.left.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
  }
  return didLast;
}

} // namespace p3d
