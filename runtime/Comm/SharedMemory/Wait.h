// Blocking on a word of shared memory: futexes with a deadline, never spinning.
#pragma once
#include <atomic>
#include <climits>
#include <cstdint>
#include <functional>

namespace p3d {

int64_t monotonicNs();

/// Sleeps until `word` is no longer `seen`, a wake-up comes or `ns` are over.
void futexWait(std::atomic<uint32_t> &word, uint32_t seen, int64_t ns);
/// Wakes at most `count` of those who sleep on `word`.
void futexWake(std::atomic<uint32_t> &word, int count = INT_MAX);

/// Adds one and wakes those who sleep on `word`, or `count` of them.
void signal(std::atomic<uint32_t> &word, int count = INT_MAX);

/// Waits until `ready()`, looking again at each change of `word`. Returns
/// false once this process has waited for `timeoutNs`; time in which it was
/// itself stopped does not count. A negative timeout is none.
bool waitUntil(std::atomic<uint32_t> &word, int64_t timeoutNs,
               const std::function<bool()> &ready);

} // namespace p3d
