// Meeting: every wait of the communicator, its turns, its reports.
#include "test/emulator/Nccl/Communicator.h"
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Settings.h"
#include "test/emulator/Driver/Trace.h"
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace p3d::emulator {

Communicator::Communicator(const std::string &boardName, std::string name, int ranks, int rank,
                           std::unique_ptr<Mover> mover)
    : name(std::move(name)), ranks(ranks), rank(rank), board(boardName, ranks, rank), mover(std::move(mover)) {}

/// "rank 1 (5 of all)".
std::string Communicator::who(int rank) const {
  int global = board.slot(rank).globalRank;
  return global < 0 || !board.slot(rank).isPresent ? fmt::format("rank {}", rank)
                                                   : fmt::format("rank {} ({} of all)", rank, global);
}

/// Whether the process is gone, or ended and not yet collected by its parent.
static bool isDead(int pid) {
  std::ifstream stream(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(stream, line))
    return true;
  size_t name = line.rfind(')');
  return name != std::string::npos && name + 2 < line.size() && line[name + 2] == 'Z';
}

void Communicator::setActivity(const std::string &text) {
  char *activity = board.slot(rank).activity;
  strncpy(activity, text.c_str(), sizeof(RankSlot::activity) - 1);
}

void Communicator::reportTimeout(const std::string &what, const std::function<bool(int)> &hasArrived) {
  std::string arrived, missing;
  for (int other = 0; other < ranks; ++other) {
    const RankSlot &slot = board.slot(other);
    std::string &list = hasArrived(other) ? arrived : missing;
    list += (list.empty() ? "" : ", ") + who(other);
    if (!hasArrived(other))
      list += !slot.isPresent    ? ": has not joined"
              : slot.activity[0] ? fmt::format(": at {}", slot.activity)
                                 : ": idle";
  }
  board.unlinkName();
  fault(fmt::format("timeout: {} waits since {:g} s at {} of communicator {}; there: {}; missing: {}", who(rank),
                    settings().timeoutSeconds, what, name, arrived, missing));
}

/// Waits with the lock held; false when aborted.
bool Communicator::waitFor(const std::string &what, const std::function<bool()> &isDone,
                           const std::function<bool(int)> &hasArrived) {
  double until = nowUs() + settings().timeoutSeconds * 1e6;
  return board.wait(isDone, [&] {
    for (int other = 0; other < ranks; ++other) {
      const RankSlot &slot = board.slot(other);
      if (slot.isPresent && !hasArrived(other) && isDead(slot.pid))
        error = ncclRemoteError;
    }
    if (!isAborted && nowUs() > until)
      reportTimeout(what, hasArrived);
    return isAborted.load();
  });
}

bool Communicator::join() {
  if (board.ranks() != ranks)
    fault(fmt::format("communicator {} is made with {} ranks by rank {}, with {} by another", name, ranks, rank,
                      board.ranks()));
  board.lock();
  RankSlot &slot = board.slot(rank);
  if (slot.isPresent)
    fault(fmt::format("communicator {}: two ranks call themselves rank {}", name, rank));
  slot.globalRank = settings().rank;
  slot.pid = getpid();
  slot.isPresent = 1;
  board.notify();
  auto allPresent = [&] {
    for (int other = 0; other < ranks; ++other)
      if (!board.slot(other).isPresent)
        return false;
    return true;
  };
  bool isDone = waitFor("the making", allPresent, [&](int other) { return board.slot(other).isPresent != 0; });
  board.unlock();
  board.unlinkName(); // by the first that sees all; the others find nothing
  return isDone;
}

void Communicator::abort() {
  isAborted = true;
  board.unlinkName();
  board.lock();
  board.notify();
  board.unlock();
  std::lock_guard<std::mutex> lock(turnMutex);
  turnChanged.notify_all();
}

Communicator::Turn::Turn(Communicator &communicator, uint64_t ticket) : communicator(communicator) {
  std::unique_lock<std::mutex> lock(communicator.turnMutex);
  communicator.turnChanged.wait(lock, [&] { return communicator.finished + 1 == ticket || communicator.isAborted; });
  communicator.board.lock();
}

Communicator::Turn::~Turn() {
  communicator.board.slot(communicator.rank).activity[0] = 0;
  communicator.board.unlock();
  std::lock_guard<std::mutex> lock(communicator.turnMutex);
  ++communicator.finished;
  communicator.turnChanged.notify_all();
}

} // namespace p3d::emulator
