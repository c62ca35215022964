// Watches what was enqueued on the streams of communication: publishes what the rank waits for, so that the reports of
// others find it, and ends the run when an operation has begun but is not done within the deadline, or fails. A thread
// of its own: the host may itself be held up by a full queue, or by the making of a communicator.
#pragma once
#include "runtime/Comm/SharedMemory/Communicator.h"
#include "runtime/Cuda/Owners.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace p3d {

/// An operation that needs other ranks.
struct Operation {
  Activity activity;         ///< InCollective, Receiving or AwaitingReceiver; Running: a whole step
  const Communicator *group; ///< of a collective
  Call call;                 ///< of a collective, stamped
  int peer = -1;             ///< of a transfer
  std::string transfer;      ///< what it is, for reports
};

class Watchdog {
public:
  Watchdog(const Program &program, int rank, const Control &control, const Context &device, int64_t timeoutNs);
  ~Watchdog();

  /// Enqueues an operation on `stream` by `enqueue`, and watches it.
  void follow(CUstream stream, const Operation &operation, const std::function<void()> &enqueue);
  /// Does an operation in which the host itself waits for others.
  void perform(const Operation &operation, const std::function<void()> &body);
  /// Errors that happen later are asked for through `check`, in the watching thread; it throws them.
  void alsoCheck(std::function<void()> check);
  void forgetChecks();

private:
  /// Where the rank was when it enqueued.
  struct Place {
    int64_t step, mb;
    std::string task, operation;
  };
  struct Watched {
    Operation operation;
    Place place;
    Event begun, done;     ///< none for what the host does
    int64_t waitedNs = -1; ///< since it was seen to have begun; -1: it has not
  };
  Place place() const;
  Event takeEvent();
  bool hasWork() const;
  void add(CUstream stream, Watched watched);
  void watch();
  void look(int64_t passedNs);
  void advance(std::deque<Watched> &queue, int64_t passedNs);
  void publish(const Watched *oldest);
  [[noreturn]] void reportLate(const Watched &late);

  RankArea &area() const { return control.rank(rank); }
  [[noreturn]] void fail(ExitCode code, const std::string &text, const LateWait &late = {});

  const Program &program;
  const int rank;
  const Control &control;
  const Context &device;
  const int64_t timeoutNs;
  std::mutex mutex;
  std::map<CUstream, std::deque<Watched>> queues; ///< under null: what the host does
  std::vector<Event> freeEvents;
  std::vector<std::function<void()>> checks;
  bool isPublished = false, isEnding = false, isAsleep = false;
  std::condition_variable wake;
  std::thread thread;
};

} // namespace p3d
