// A stream: a queue and one worker thread that sleeps when there is nothing to do. The order of commands (their clocks)
// is settled when they are put on the stream, by the host; when they run, the worker and the seed decide. Only a wait
// for a value (cuStreamWaitValue32) orders what the host did not know of yet: then the stream learns it as it goes.
#pragma once
#include "test/emulator/Driver/Command.h"
#include "test/emulator/Kernel/Executor.h"
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace p3d::emulator {

/// A point of a stream that others wait for.
class Completion {
public:
  explicit Completion(const Clock &clock) : known(clock) {}
  /// `learnt`: by the stream that comes to it.
  void finish(const Clock &learnt);
  void wait();
  bool isDone();
  double timeUs() const { return doneUs; }
  /// What is done when it is, as far as that is known by now.
  Clock clock();

private:
  std::mutex mutex;
  Clock known;
  std::condition_variable changed;
  bool done = false;
  double doneUs = 0;
};

class Capture;

class Stream {
public:
  /// `index` is its place in clocks; `firstNumber` goes on where the last stream with that place ended.
  Stream(unsigned index, uint32_t lastNumber);
  /// Waits until everything has run.
  ~Stream();
  Stream(const Stream &) = delete;

  /// Puts a command behind all others; it comes after what `host` covers.
  void push(Command command, const Clock &host);
  std::shared_ptr<Completion> record(const Clock &host);
  void waitFor(std::shared_ptr<Completion> completion, const Clock &host);
  /// Waits until all that is there now has run.
  void drain();
  bool isIdle();
  /// All that is done when it is idle.
  Clock clockWhenIdle();
  /// What a command that ran here lately was called.
  std::string describe(uint32_t number) const;

  const unsigned index;
  uint32_t lastNumber; ///< of the commands put here
  Clock clock;         ///< of the last one
  int priority = 0;
  Capture *capture = nullptr; ///< while its commands are captured instead of run
  unsigned branch = 0;        ///< its place in the capture

private:
  struct Queued {
    Command command;
    CommandId id;
    Clock clock;
    uint64_t ticket;
  };
  void work();
  void runOne(Queued &queued);
  void delay(uint32_t number);

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Queued> queue;
  std::vector<std::string> labels; // of the last commands, by number
  size_t unfinished = 0;
  bool ending = false;
  Clock learnt; // by the worker, which alone touches it while there is work
  Executor executor;
  std::thread worker;
};

} // namespace p3d::emulator
