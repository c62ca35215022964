// Blocking on a word of shared memory: futexes with a deadline, never spinning.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

namespace p3d {

int64_t monotonicNs();

/// Sleeps until `word` is no longer `seen`, a wake-up comes or `ns` are over.
void futexWait(std::atomic<uint32_t> &word, uint32_t seen, int64_t ns);
void futexWake(std::atomic<uint32_t> &word);

/// Adds one and wakes whoever sleeps on `word`.
void signal(std::atomic<uint32_t> &word);

/// Waits until `ready()`, looking again at each change of `word`. Returns
/// false once this process has waited for `timeoutNs`; time in which it was
/// itself stopped does not count. A negative timeout is none.
bool waitUntil(std::atomic<uint32_t> &word, int64_t timeoutNs,
               const std::function<bool()> &ready);

} // namespace p3d
