// Collectives: compared among the ranks, then moved in chunks.
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Nccl/Communicator.h"
#include <cstring>
#include <fmt/format.h>

namespace p3d::emulator {

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
  uint64_t number = own.collectives + 1;
  own.views[number % 2] = viewOf(collective);
  own.collectives = number;
  std::string what = fmt::format("collective {}, {},", number, describe(collective));
  setActivity(what);
  if (!waitForAll(what, [&](int other) { return board.slot(other).collectives >= number; }))
    return false;
  const OpView &mine = own.views[number % 2];
  for (int other = 0; other < ranks; ++other)
    if (const OpView &theirs = board.slot(other).views[number % 2]; !equal(mine, theirs))
      fault(fmt::format("misordered collectives: collective {} of communicator {} is {} for {}, but {} for {}", number,
                        name, describe(mine), who(rank), describe(theirs), who(other)));
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

/// This rank's part of a chunk, where the others see it; from the copy `kept` if there is one.
void Communicator::bring(const Collective &c, const char *kept, size_t at, size_t count) {
  size_t size = bytesOf(c.type);
  if (kept)
    memcpy(board.staging(rank, set), kept + at * size, count * size);
  else if (c.kind != CollectiveKind::Broadcast || rank == c.root)
    mover->toHost(board.staging(rank, set), c.from + at * size, count * size);
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
    mover->toDevice(c.to + at * size, reduced, bytes);
    break;
  case CollectiveKind::Reduce:
    if (rank == c.root)
      mover->toDevice(c.to + at * size, reduced, bytes);
    break;
  case CollectiveKind::Broadcast:
    mover->toDevice(c.to + at * size, board.staging(c.root, set), bytes);
    break;
  case CollectiveKind::AllGather:
    for (int other = 0; other < ranks; ++other)
      mover->toDevice(c.to + (other * c.count + at) * size, board.staging(other, set), bytes);
    break;
  case CollectiveKind::ReduceScatter: { // the chunk may hold parts of several ranks
    size_t first = std::max(at, rank * c.count), last = std::min(at + count, (rank + 1) * c.count);
    if (first < last)
      mover->toDevice(c.to + (first - rank * c.count) * size, reduced + (first - at) * size, (last - first) * size);
    break;
  }
  }
}

/// Chunk by chunk: bring, meet, reduce, meet, take. Two sets of stagings alternate: who brings the chunk after next
/// knows from the meeting between that all have taken this one. The first meeting is that of the collective itself.
void Communicator::run(const Collective &c, uint64_t ticket) {
  Turn turn(*this, ticket);
  if (isAborted)
    return;
  size_t total = c.kind == CollectiveKind::ReduceScatter ? c.count * ranks : c.count;
  size_t chunk = collectiveChunk / bytesOf(c.type);
  // The result may lie in what is still to be read.
  std::vector<char> copy;
  if (c.kind == CollectiveKind::ReduceScatter || c.kind == CollectiveKind::AllGather) {
    copy.resize(total * bytesOf(c.type));
    mover->toHost(copy.data(), c.from, copy.size());
  }
  const char *kept = copy.empty() ? nullptr : copy.data();
  std::string what = describe(c);
  bring(c, kept, 0, std::min(chunk, total));
  bool goesOn = begin(c);
  board.unlock();
  for (size_t at = 0; at < total && goesOn; at += chunk) {
    size_t count = std::min(chunk, total - at);
    if (at > 0) {
      bring(c, kept, at, count);
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

} // namespace p3d::emulator
