#include "runtime/Cuda/Watchdog.h"
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <algorithm>
#include <unistd.h>

namespace p3d {

/// Between two looks; a look costs a call of the driver for each stream.
static constexpr auto pause = std::chrono::milliseconds(5);
/// The most that one pause counts: the process may have been stopped meanwhile.
static constexpr int64_t longestPauseNs = 500'000'000;

Watchdog::Watchdog(const Program &program, int rank, const Control &control, const Context &device, int64_t timeoutNs)
    : program(program), rank(rank), control(control), device(device), timeoutNs(timeoutNs),
      thread([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  wake.notify_all();
  thread.join();
}

Watchdog::Place Watchdog::place() const {
  RankArea &area = this->area();
  return {area.step.load(std::memory_order_relaxed), area.mb.load(std::memory_order_relaxed), area.task,
          area.operation};
}

void Watchdog::fail(ExitCode code, const std::string &text, const LateWait &late) {
  control.reportFailure(rank, code, text, late);
  _exit(int(code));
}

Event Watchdog::takeEvent() {
  if (freeEvents.empty())
    return makeEvent();
  Event event = std::move(freeEvents.back());
  freeEvents.pop_back();
  return event;
}

void Watchdog::follow(CUstream stream, const Operation &operation, const std::function<void()> &enqueue) {
  Watched watched{operation, place(), {}, {}, -1};
  {
    std::lock_guard lock(mutex);
    watched.begun = takeEvent(), watched.done = takeEvent();
  }
  CUevent done = watched.done.get();
  P3D_CU(cuEventRecord, watched.begun.get(), stream);
  // The first transfer with a peer may hold up the host until the peer is there.
  perform(operation, enqueue);
  P3D_CU(cuEventRecord, done, stream);
  add(stream, std::move(watched));
}

void Watchdog::add(CUstream stream, Watched watched) {
  std::lock_guard lock(mutex);
  queues[stream].push_back(std::move(watched));
  if (isAsleep)
    wake.notify_all();
}

void Watchdog::perform(const Operation &operation, const std::function<void()> &body) {
  add(nullptr, {operation, place(), {}, {}, 0});
  body();
  std::lock_guard lock(mutex);
  queues[nullptr].pop_back();
}

void Watchdog::alsoCheck(std::function<void()> check) {
  std::lock_guard lock(mutex);
  checks.push_back(std::move(check));
}

void Watchdog::forgetChecks() {
  std::lock_guard lock(mutex);
  checks.clear();
}

bool Watchdog::hasWork() const {
  return std::any_of(queues.begin(), queues.end(), [](const auto &queue) { return !queue.second.empty(); });
}

void Watchdog::watch() {
  try {
    device.enter();
    int64_t last = monotonicNs();
    std::unique_lock lock(mutex);
    while (!isEnding) {
      isAsleep = !hasWork();
      if (isAsleep)
        wake.wait(lock, [this] { return isEnding || hasWork(); });
      isAsleep = false;
      wake.wait_for(lock, pause, [this] { return isEnding; });
      int64_t now = monotonicNs();
      look(std::min(now - last, longestPauseNs));
      last = now;
    }
  } catch (const Error &error) {
    fail(error.code(), error.what());
  } catch (const std::exception &error) {
    fail(ExitCode::InternalError, error.what());
  }
}

static bool isOver(const Event &event) {
  CUresult result = driver().cuEventQuery(event.get());
  if (result == CUDA_ERROR_NOT_READY)
    return false;
  checkDriver(result, "cuEventQuery");
  return true;
}

void Watchdog::advance(std::deque<Watched> &queue, int64_t passedNs) {
  while (!queue.empty() && queue.front().done && isOver(queue.front().done)) {
    freeEvents.push_back(std::move(queue.front().begun));
    freeEvents.push_back(std::move(queue.front().done));
    queue.pop_front();
  }
  if (queue.empty())
    return;
  Watched &first = queue.front();
  if (first.waitedNs >= 0)
    first.waitedNs += passedNs;
  else if (isOver(first.begun))
    first.waitedNs = 0;
}

void Watchdog::look(int64_t passedNs) {
  for (const std::function<void()> &check : checks)
    check();
  const Watched *oldest = nullptr;
  for (auto &[stream, queue] : queues) {
    advance(queue, passedNs);
    if (!queue.empty() && queue.front().waitedNs >= 0 && (!oldest || queue.front().waitedNs > oldest->waitedNs))
      oldest = &queue.front();
  }
  publish(oldest);
  if (oldest && oldest->waitedNs > timeoutNs)
    reportLate(*oldest);
}

/// What the watchdog publishes, and what it takes the place of; other activities are the host's own.
static bool isOfDevice(Activity activity) {
  switch (activity) {
  case Activity::Starting:
  case Activity::Running:
  case Activity::InCollective:
  case Activity::Receiving:
  case Activity::AwaitingReceiver:
    return true;
  case Activity::AwaitingLauncher:
  case Activity::Finished:
    return false;
  }
  return false;
}

void Watchdog::publish(const Watched *oldest) {
  RankArea &area = this->area();
  auto activity = Activity(area.activity.load(std::memory_order_relaxed));
  if (!isOfDevice(activity) || (!oldest && !isPublished))
    return;
  if (oldest) {
    area.waitsFor.store(oldest->operation.peer, std::memory_order_relaxed);
    if (oldest->operation.activity == Activity::InCollective)
      area.call = oldest->operation.call;
  }
  isPublished = oldest != nullptr;
  // The rank may have gone on to another activity meanwhile; that one stays.
  auto seen = uint32_t(activity);
  area.activity.compare_exchange_strong(seen, uint32_t(oldest ? oldest->operation.activity : Activity::Running));
}

void Watchdog::reportLate(const Watched &late) {
  RankArea &area = this->area();
  area.step.store(late.place.step);
  area.mb.store(late.place.mb);
  setText(area.task, late.place.task);
  setText(area.operation, late.place.operation);
  const Operation &operation = late.operation;
  if (operation.group || operation.peer >= 0) {
    LateWait wait = operation.group ? lateCollective(timeoutNs)
                                    : lateTransfer(operation.peer, timeoutNs, operation.transfer);
    fail(ExitCode::RankFailure, describeLate(control, program, rank, wait), wait);
  }
  fail(ExitCode::RankFailure, fmt::format("rank {} waited {} s at step {} for the graph of the whole step; without "
                                          "--cuda-graph the operation is named",
                                          rank, double(timeoutNs) / 1e9, late.place.step));
}

} // namespace p3d
