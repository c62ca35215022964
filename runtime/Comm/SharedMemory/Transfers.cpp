// Point-to-point transfers. A send posts a message in the sender's outbox and
// goes on; the receiver copies straight from the sender's arena and marks the
// message free. The sender waits for that before it touches the slot again.
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <cstring>

namespace p3d {

int SharedMemoryTransport::rankOfStage(int stage) {
  if (stage < 0 || stage >= program.stages || stage == at.pp)
    internalError("stage {} has no transfer with stage {}", at.pp, stage);
  return program.mesh.rankOf({at.tp, stage, at.dp});
}

/// The first message that satisfies `matches`, or null.
template <typename Predicate>
static Message *findMessage(RankArea &area, Predicate matches) {
  uint32_t used = area.outboxUsed.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    Message &message = area.outbox[i];
    if (message.posted.load(std::memory_order_acquire) && matches(message))
      return &message;
  }
  return nullptr;
}

Message &SharedMemoryTransport::freeMessage() {
  RankArea &area = self();
  uint32_t used = area.outboxUsed.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < used; ++i)
    if (!area.outbox[i].posted.load(std::memory_order_acquire))
      return area.outbox[i];
  if (used == maxMessages) {
    finishAllSends();
    return area.outbox[0];
  }
  area.outboxUsed.store(used + 1, std::memory_order_release);
  return area.outbox[used];
}

void SharedMemoryTransport::send(int toStage, int value, int64_t mb,
                                 int64_t slot, const void *data,
                                 int64_t bytes) {
  int to = rankOfStage(toStage);
  int64_t offset = arenas.offsetOf(data, bytes, "send");
  Message &message = freeMessage();
  message.to = to, message.value = value;
  message.mb = mb, message.slot = slot;
  message.offset = offset, message.bytes = bytes;
  message.posted.store(1, std::memory_order_release);
  signal(control.rank(to).inbox);
}

void SharedMemoryTransport::receive(int fromStage, int value, int64_t mb,
                                    void *data, int64_t bytes) {
  int from = rankOfStage(fromStage);
  arenas.offsetOf(data, bytes, "recv");
  RankArea &peer = control.rank(from);
  Message *message = nullptr;
  wait(
      Activity::Receiving, from, self().inbox,
      [&] {
        message = findMessage(peer, [&](const Message &m) {
          return m.to == rank && m.value == value && m.mb == mb;
        });
        return message != nullptr;
      },
      [&] {
        return lateTransfer(
            from, timeoutNs,
            fmt::format("for transfer {} of microbatch {} from", value, mb));
      });
  if (message->bytes != bytes)
    internalError("transfer {} of microbatch {} has {} bytes on rank {} and "
                  "{} on rank {}",
                  value, mb, message->bytes, from, bytes, rank);
  std::memcpy(data, arenas.base(from) + message->offset, size_t(bytes));
  message->posted.store(0, std::memory_order_release);
  signal(peer.acknowledged);
}

void SharedMemoryTransport::finishSendsWhere(
    const std::function<bool(const Message &)> &concerned) {
  RankArea &area = self();
  while (Message *message = findMessage(area, concerned)) {
    int to = message->to;
    wait(
        Activity::AwaitingReceiver, to, area.acknowledged,
        [&] { return !message->posted.load(std::memory_order_acquire); },
        [&] {
          return lateTransfer(to, timeoutNs,
                              fmt::format("for transfer {} of microbatch {} "
                                          "to be received by",
                                          message->value, message->mb));
        });
  }
}

void SharedMemoryTransport::finishSends(int64_t slot) {
  finishSendsWhere([&](const Message &m) { return m.slot == slot; });
}

void SharedMemoryTransport::finishAllSends() {
  finishSendsWhere([](const Message &) { return true; });
}

} // namespace p3d
