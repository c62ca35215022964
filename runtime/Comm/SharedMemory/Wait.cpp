// Futex waits in slices. A slice bounds what a stop of this process can add to
// the time it believes to have waited.
#include "runtime/Comm/SharedMemory/Wait.h"
#include <algorithm>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace p3d {

static constexpr int64_t sliceNs = 500'000'000;

int64_t monotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

static uint32_t *address(std::atomic<uint32_t> &word) {
  static_assert(sizeof(std::atomic<uint32_t>) == 4, "a futex is 4 bytes");
  return reinterpret_cast<uint32_t *>(&word);
}

void futexWait(std::atomic<uint32_t> &word, uint32_t seen, int64_t ns) {
  timespec limit{time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)};
  syscall(SYS_futex, address(word), FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, address(word), FUTEX_WAKE, count, nullptr, nullptr, 0);
}

void signal(std::atomic<uint32_t> &word, int count) {
  word.fetch_add(1, std::memory_order_release);
  futexWake(word, count);
}

bool waitUntil(std::atomic<uint32_t> &word, int64_t timeoutNs,
               const std::function<bool()> &ready) {
  int64_t waited = 0;
  while (true) {
    // Read the word before looking: a change after that ends the sleep.
    uint32_t seen = word.load(std::memory_order_acquire);
    if (ready())
      return true;
    if (timeoutNs >= 0 && waited >= timeoutNs)
      return false;
    int64_t slice =
        timeoutNs < 0 ? sliceNs : std::min(sliceNs, timeoutNs - waited);
    int64_t start = monotonicNs();
    futexWait(word, seen, slice);
    waited += std::min(monotonicNs() - start, slice);
  }
}

} // namespace p3d
