// Threads that sleep on a futex between loops. Before they sleep they look for work for about as long as it takes to wake
// them, since loops follow each other closely; a loop never waits for a thread that has not come in time.
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/Kernels.h"
#include <atomic>
#include <climits>
#include <linux/futex.h>
#include <mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace p3d {
namespace {

using Word = std::atomic<uint32_t>;

void pauseProcessor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void sleepWhile(Word &word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wakeAll(Word &word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Returns what `word` holds once it is no longer `value`.
uint32_t awaitChange(Word &word, uint32_t value, Word &sleepers) {
  constexpr int looks = 2000; // some tens of microseconds, what it takes to wake a virtual processor
  for (int look = 0; look < looks; ++look) {
    if (uint32_t now = word.load(std::memory_order_acquire); now != value)
      return now;
    pauseProcessor();
  }
  sleepers.fetch_add(1);
  while (word.load() == value)
    sleepWhile(word, value);
  sleepers.fetch_sub(1);
  return word.load(std::memory_order_acquire);
}

void change(Word &word, uint32_t value, Word &sleepers) {
  word.store(value);
  if (sleepers.load() != 0)
    wakeAll(word);
}

thread_local bool isInsideLoop = false;

class Threads {
public:
  int count() const { return static_cast<int>(workers.size()) + 1; }

  void setCount(int threads) {
    std::lock_guard<std::mutex> lock(user);
    stop();
    for (int i = 1; i < threads; ++i)
      workers.emplace_back([this, seen = round.load()] { serve(seen); });
  }

  /// False if another thread's loop is under way.
  bool run(int64_t count, int64_t grain, RangeFunction body, void *context) {
    std::unique_lock<std::mutex> lock(user, std::try_to_lock);
    if (!lock)
      return false;
    constexpr int64_t partsPerThread = 4;
    int64_t grains = (count + grain - 1) / grain, most = partsPerThread * this->count();
    loop = {body, context, count, (grains + std::min(grains, most) - 1) / std::min(grains, most) * grain};
    next.store(0, std::memory_order_relaxed);
    entrance.store(open);
    change(round, round.load() + 1, roundSleepers);
    work();
    // Nobody enters any more; those inside finish their parts.
    uint32_t inside = entrance.fetch_and(~open) & ~open;
    while (inside != 0)
      inside = awaitChange(entrance, inside, entranceSleepers);
    return true;
  }

  ~Threads() { stop(); }

private:
  struct Loop {
    RangeFunction body;
    void *context;
    int64_t count, part;
  };
  static constexpr uint32_t open = uint32_t(1) << 31;

  void stop() {
    isStopping.store(true);
    change(round, round.load() + 1, roundSleepers);
    for (std::thread &worker : workers)
      worker.join();
    workers.clear();
    isStopping.store(false);
  }

  void serve(uint32_t seen) {
    isInsideLoop = true;
    for (;;) {
      seen = awaitChange(round, seen, roundSleepers);
      if (isStopping.load())
        return;
      if (!enter())
        continue;
      work();
      uint32_t left = entrance.fetch_sub(1) - 1;
      if (left == 0 && entranceSleepers.load() != 0)
        wakeAll(entrance);
    }
  }

  bool enter() {
    uint32_t now = entrance.load();
    while (now & open)
      if (entrance.compare_exchange_weak(now, now + 1))
        return true;
    return false;
  }

  void work() {
    for (;;) {
      int64_t begin = next.fetch_add(loop.part, std::memory_order_relaxed);
      if (begin >= loop.count)
        return;
      loop.body(loop.context, begin, std::min(begin + loop.part, loop.count));
    }
  }

  std::mutex user; ///< held by the thread whose loop is under way
  std::vector<std::thread> workers;
  Loop loop{};
  std::atomic<int64_t> next{0};
  Word entrance{0}; ///< how many workers are inside of the loop, and whether more may come
  Word round{0}, roundSleepers{0}, entranceSleepers{0};
  std::atomic<bool> isStopping{false};
};

Threads &threads() {
  static Threads all;
  return all;
}

} // namespace

int parallelThreads() { return isInsideLoop ? 1 : threads().count(); }

void parallelRanges(int64_t count, int64_t grain, RangeFunction body, void *context) {
  if (count <= 0)
    return;
  if (count <= grain || parallelThreads() == 1)
    return body(context, 0, count);
  isInsideLoop = true;
  bool isDone = threads().run(count, grain, body, context);
  isInsideLoop = false;
  if (!isDone)
    body(context, 0, count);
}

} // namespace p3d

void p3d_set_threads(int32_t threads) {
  p3d::threads().setCount(threads);
  p3d::useHugePages(threads);
}

void p3d_parallel(p3d_part body, void *const *arguments, int64_t count, int64_t grain) {
  p3d::parallelFor(count, grain, [&](int64_t begin, int64_t end) { body(arguments, begin, end); });
}
