// Sends and receives: those of a group go on together, piece by piece, whichever channel is ready.
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Nccl/Communicator.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace p3d::emulator {

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
    mover->toHost(board.piece(rank, t.peer), t.address + done, channel.bytes);
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
  mover->toDevice(t.address + done, board.piece(t.peer, rank), channel.bytes);
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
