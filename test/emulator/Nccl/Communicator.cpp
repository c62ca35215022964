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

Communicator::Communicator(const std::string &boardName, std::string name, int ranks, int rank)
    : name(std::move(name)), ranks(ranks), rank(rank), board(boardName, ranks, rank) {}

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

/// This rank's commands one after another, in the order in which the host gave them.
struct Communicator::Turn {
  Turn(Communicator &communicator, uint64_t ticket) : communicator(communicator) {
    std::unique_lock<std::mutex> lock(communicator.turnMutex);
    communicator.turnChanged.wait(lock, [&] { return communicator.finished + 1 == ticket || communicator.isAborted; });
    communicator.board.lock();
  }
  ~Turn() {
    communicator.board.slot(communicator.rank).activity[0] = 0;
    communicator.board.unlock();
    std::lock_guard<std::mutex> lock(communicator.turnMutex);
    ++communicator.finished;
    communicator.turnChanged.notify_all();
  }
  Communicator &communicator;
};

// ----------------------------------------------------------------------------------------------------------
// collectives

static const char *const kindNames[] = {"allReduce", "allGather", "reduceScatter", "broadcast", "reduce"};

static bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::Reduce;
}
static bool hasRoot(CollectiveKind kind) { return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce; }

std::string describe(const Collective &c) {
  std::string text = fmt::format("{} {} {}", kindNames[int(c.kind)], c.count, nameOf(c.type));
  if (reduces(c.kind))
    text += " " + nameOf(c.op);
  if (hasRoot(c.kind))
    text += fmt::format(" root {}", c.root);
  return text;
}

static OpView viewOf(const Collective &c) {
  OpView view{};
  strncpy(view.kind, kindNames[int(c.kind)], sizeof(view.kind) - 1);
  view.count = c.count;
  view.type = c.type;
  view.op = reduces(c.kind) ? c.op : -1;
  view.root = hasRoot(c.kind) ? c.root : -1;
  return view;
}

static std::string describe(const OpView &view) {
  std::string text = fmt::format("{} {} {}", view.kind, view.count, nameOf(ncclDataType_t(view.type)));
  if (view.op >= 0)
    text += " " + nameOf(ncclRedOp_t(view.op));
  return view.root >= 0 ? text + fmt::format(" root {}", view.root) : text;
}

static bool equal(const OpView &a, const OpView &b) {
  return strcmp(a.kind, b.kind) == 0 && a.count == b.count && a.type == b.type && a.op == b.op && a.root == b.root;
}

/// Waits with the lock held until all have arrived. The last wakes the others; nobody else could go on before.
bool Communicator::waitForAll(const std::string &what, const std::function<bool(int)> &hasArrived) {
  auto allThere = [&] {
    for (int other = 0; other < ranks; ++other)
      if (!hasArrived(other))
        return false;
    return true;
  };
  if (allThere()) {
    board.notify();
    return !isAborted;
  }
  return waitFor(what, allThere, hasArrived);
}

/// Says what this rank brings, waits for the others, compares.
bool Communicator::begin(const Collective &collective) {
  RankSlot &own = board.slot(rank);
  own.view = viewOf(collective);
  uint64_t number = ++own.collectives;
  std::string what = fmt::format("collective {}, {},", number, describe(collective));
  setActivity(what);
  if (!waitForAll(what, [&](int other) { return board.slot(other).collectives >= number; }))
    return false;
  for (int other = 0; other < ranks; ++other)
    if (!equal(own.view, board.slot(other).view))
      fault(fmt::format("misordered collectives: collective {} of communicator {} is {} for {}, but {} for {}", number,
                        name, describe(own.view), who(rank), describe(board.slot(other).view), who(other)));
  return true;
}

/// A barrier inside a collective; the lock is not held.
bool Communicator::meet(const std::string &what) {
  board.lock();
  uint64_t phase = ++board.slot(rank).phase;
  bool isDone = waitForAll(what, [&](int other) { return board.slot(other).phase >= phase; });
  board.unlock();
  return isDone;
}

/// This rank's part of a chunk, where the others see it.
void Communicator::bring(const Collective &c, size_t at, size_t count) {
  size_t size = bytesOf(c.type);
  if (c.kind != CollectiveKind::Broadcast || rank == c.root)
    memcpy(board.staging(rank, set), c.from + at * size, count * size);
}

/// Each rank reduces its share of the chunk, from all stagings into the first.
void Communicator::reduceShare(const Collective &c, size_t count) {
  size_t share = (count + ranks - 1) / ranks, begin = std::min(count, share * rank),
         end = std::min(count, begin + share);
  size_t offset = begin * bytesOf(c.type);
  std::vector<const char *> sources;
  for (int other = 0; other < ranks; ++other)
    sources.push_back(board.staging(other, set) + offset);
  reduceInOrder(c.type, c.op, sources, board.staging(0, set) + offset, end - begin);
}

/// What this rank gets of a chunk.
void Communicator::take(const Collective &c, size_t at, size_t count) {
  size_t size = bytesOf(c.type), bytes = count * size;
  const char *reduced = board.staging(0, set);
  switch (c.kind) {
  case CollectiveKind::AllReduce:
    memcpy(c.to + at * size, reduced, bytes);
    break;
  case CollectiveKind::Reduce:
    if (rank == c.root)
      memcpy(c.to + at * size, reduced, bytes);
    break;
  case CollectiveKind::Broadcast:
    memcpy(c.to + at * size, board.staging(c.root, set), bytes);
    break;
  case CollectiveKind::AllGather:
    for (int other = 0; other < ranks; ++other)
      memcpy(c.to + (other * c.count + at) * size, board.staging(other, set), bytes);
    break;
  case CollectiveKind::ReduceScatter: { // the chunk may hold parts of several ranks
    size_t first = std::max(at, rank * c.count), last = std::min(at + count, (rank + 1) * c.count);
    if (first < last)
      memcpy(c.to + (first - rank * c.count) * size, reduced + (first - at) * size, (last - first) * size);
    break;
  }
  }
}

/// Chunk by chunk: bring, meet, reduce, meet, take. Two sets of stagings alternate: who brings the chunk after next
/// knows from the meeting between that all have taken this one. The first meeting is that of the collective itself.
void Communicator::run(const Collective &collective, uint64_t ticket) {
  Turn turn(*this, ticket);
  if (isAborted)
    return;
  Collective c = collective;
  size_t total = c.kind == CollectiveKind::ReduceScatter ? c.count * ranks : c.count;
  size_t chunk = collectiveChunk / bytesOf(c.type);
  // The result may lie in what is still to be read.
  std::vector<char> copy;
  if (c.kind == CollectiveKind::ReduceScatter || c.kind == CollectiveKind::AllGather) {
    copy.assign(c.from, c.from + total * bytesOf(c.type));
    c.from = copy.data();
  }
  std::string what = describe(c);
  bring(c, 0, std::min(chunk, total));
  bool goesOn = begin(c);
  board.unlock();
  for (size_t at = 0; at < total && goesOn; at += chunk) {
    size_t count = std::min(chunk, total - at);
    if (at > 0) {
      bring(c, at, count);
      goesOn = meet(what);
    }
    if (goesOn && reduces(c.kind)) {
      reduceShare(c, count);
      goesOn = meet(what);
    }
    if (goesOn)
      take(c, at, count);
    set = 1 - set;
  }
  board.lock();
}

// ------------------------------------------------------------------------------------------------------------
// transfers

std::string describe(const Transfer &t) {
  return fmt::format("{} {} {} {} {}", t.isSend ? "send" : "receive", t.count, nameOf(t.type), t.isSend ? "to" : "from",
                     t.peer);
}

/// Moves one piece if the channel allows it; returns whether something was done. A send is finished when its last piece
/// has been taken.
bool Communicator::progress(const Transfer &t, size_t &done, bool &isFinished) {
  size_t total = t.count * bytesOf(t.type);
  Channel &channel = t.isSend ? board.channel(rank, t.peer) : board.channel(t.peer, rank);
  if (t.isSend) {
    if (channel.isFull)
      return false;
    if (done > total || (done == total && total > 0))
      return isFinished = true;
    channel.message = {"send", t.count, t.type, -1, -1};
    channel.bytes = std::min(transferChunk, total - done);
    memcpy(board.piece(rank, t.peer), t.address + done, channel.bytes);
    done += total ? channel.bytes : 1; // an empty message is one empty piece
    channel.isFull = 1;
    return true;
  }
  if (!channel.isFull)
    return false;
  if (channel.message.count != t.count || channel.message.type != t.type)
    fault(fmt::format("mismatched transfer in communicator {}: {} sends {} {}, {} receives {} {}", name, who(t.peer),
                      channel.message.count, nameOf(ncclDataType_t(channel.message.type)), who(rank), t.count,
                      nameOf(t.type)));
  memcpy(t.address + done, board.piece(t.peer, rank), channel.bytes);
  done += channel.bytes;
  channel.isFull = 0;
  isFinished = done == total;
  return true;
}

void Communicator::run(const std::vector<Transfer> &transfers, uint64_t ticket) {
  Turn turn(*this, ticket);
  std::vector<size_t> done(transfers.size());
  std::vector<char> finished(transfers.size());
  std::string what;
  for (const Transfer &transfer : transfers)
    what += (what.empty() ? "" : ", ") + describe(transfer);
  setActivity(what);
  // Of the transfers with one peer in one direction only the first open one moves.
  auto isFirst = [&](size_t i) {
    for (size_t j = 0; j < i; ++j)
      if (!finished[j] && transfers[j].peer == transfers[i].peer && transfers[j].isSend == transfers[i].isSend)
        return false;
    return true;
  };
  auto allDone = [&] {
    bool hasMoved = false, moves = true;
    while (moves) {
      moves = false;
      for (size_t i = 0; i < transfers.size(); ++i) {
        bool isFinished = finished[i];
        if (!isFinished && isFirst(i) && progress(transfers[i], done[i], isFinished))
          moves = hasMoved = true;
        finished[i] = isFinished;
      }
    }
    if (hasMoved)
      board.notify();
    return std::all_of(finished.begin(), finished.end(), [](char each) { return each; });
  };
  auto isPartnerDone = [&](int other) {
    for (size_t i = 0; i < transfers.size(); ++i)
      if (!finished[i] && transfers[i].peer == other)
        return false;
    return true;
  };
  if (!isAborted)
    waitFor(what, allDone, isPartnerDone);
}

} // namespace p3d::emulator
