#include "test/emulator/Driver/Stream.h"
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Machine.h"
#include "test/emulator/Driver/Settings.h"
#include "test/emulator/Driver/Trace.h"
#include <fmt/format.h>
#include <unistd.h>

namespace p3d::emulator {

static constexpr size_t keptLabels = 4096;

void Completion::finish(const Clock &learnt) {
  std::lock_guard<std::mutex> lock(mutex);
  known.join(learnt);
  done = true;
  doneUs = nowUs();
  changed.notify_all();
}

void Completion::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return done; });
}

Clock Completion::clock() {
  std::lock_guard<std::mutex> lock(mutex);
  return known;
}

bool Completion::isDone() {
  std::lock_guard<std::mutex> lock(mutex);
  return done;
}

Stream::Stream(unsigned index, uint32_t lastNumber)
    : index(index), lastNumber(lastNumber), labels(keptLabels), worker([this] { work(); }) {}

Stream::~Stream() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ending = true;
    changed.notify_all();
  }
  worker.join();
}

void Stream::push(Command command, const Clock &host) {
  uint64_t ticket = command.ticket ? command.ticket() : 0;
  std::lock_guard<std::mutex> lock(mutex);
  clock.join(host);
  clock.done[index] = ++lastNumber;
  if (lastNumber > maxCommands)
    fault(fmt::format("stream {} has had {} commands, which is more than are told apart", index, maxCommands));
  labels[lastNumber % keptLabels] = command.label;
  queue.push_back({std::move(command), commandId(index, lastNumber), clock, ticket});
  ++unfinished;
  changed.notify_all();
}

std::shared_ptr<Completion> Stream::record(const Clock &host) {
  Clock now = clock;
  now.join(host);
  auto completion = std::make_shared<Completion>(now);
  push({"event", "event record", 0, {}, {}, {}, [](const Running &) {}, completion}, host);
  return completion;
}

void Stream::waitFor(std::shared_ptr<Completion> completion, const Clock &host) {
  Clock after = host;
  after.join(completion->clock());
  auto wait = [completion](const Running &running) {
    completion->wait();
    running.learnt->join(completion->clock());
  };
  push({"wait", "event wait", 0, {}, {}, {}, wait}, after);
}

void Stream::drain() {
  std::unique_lock<std::mutex> lock(mutex);
  uint32_t until = lastNumber;
  changed.wait(lock, [&] { return lastNumber - unfinished >= until; });
}

bool Stream::isIdle() {
  std::lock_guard<std::mutex> lock(mutex);
  return unfinished == 0;
}

Clock Stream::clockWhenIdle() {
  std::lock_guard<std::mutex> lock(mutex);
  Clock all = clock;
  all.join(learnt);
  return all;
}

std::string Stream::describe(uint32_t number) const {
  std::lock_guard<std::mutex> lock(mutex);
  bool isKept = number <= lastNumber && lastNumber - number < keptLabels;
  return fmt::format("\"{}\" (command {} of stream {})", isKept ? labels[number % keptLabels] : "?", number, index);
}

/// A quarter of the commands begins up to 300 us late, one in sixty 3 ms: by the seed, the rank, the stream and its
/// number.
void Stream::delay(uint32_t number) {
  if (!settings().seed)
    return;
  uint64_t random = settings().seed * 0x9e3779b97f4a7c15u + uint64_t(settings().rank + 1) * 0xbf58476d1ce4e5b9u +
                    index * 0x94d049bb133111ebu + number;
  for (int i = 0; i < 2; ++i)
    random = (random ^ random >> 31) * 0xd6e8feb86659fd93u;
  random ^= random >> 32;
  if (random % 4 == 0)
    usleep(random / 4 % 16 == 0 ? 3000 : random / 64 % 300);
}

void Stream::runOne(Queued &queued) {
  delay(numberOf(queued.id));
  queued.clock.join(learnt);
  Running running{queued.id, &queued.clock, queued.ticket, &executor, &learnt};
  double start = nowUs();
  machine().checkRanges(queued.command, running);
  try {
    queued.command.run(running);
  } catch (const std::exception &error) {
    fault(fmt::format("{} of stream {}", error.what(), index));
  }
  traceCommand(queued.command, index, start, nowUs());
}

void Stream::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return !queue.empty() || ending; });
    if (queue.empty())
      return;
    Queued queued = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    runOne(queued);
    auto completion = std::move(queued.command.completion);
    queued = Queued(); // what the command holds goes before others hear of its end
    lock.lock();
    --unfinished;
    changed.notify_all();
    if (completion)
      completion->finish(learnt);
  }
}

} // namespace p3d::emulator
