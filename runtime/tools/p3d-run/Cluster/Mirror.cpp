#include "runtime/tools/p3d-run/Cluster/Mirror.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <cstring>

namespace p3d {

Mirror::Mirror(const Control &control, const Placement &placement)
    : control(control), placement(placement), sentReady(size_t(placement.rankCount)),
      sentRecords(size_t(placement.rankCount)), sentSaved(size_t(placement.rankCount)) {}

template <typename Message> static void sendAll(const Targets &targets, const Message &message) {
  for (Link *target : targets)
    target->send(message);
}

void Mirror::sendIds(int rank, const Targets &targets) {
  for (UniqueId &entry : control.rank(rank).uniqueIds) {
    uint64_t key = entry.key.load(std::memory_order_acquire);
    if (!key)
      return;
    if (!entry.isGiven.load(std::memory_order_acquire) || !sentIds.emplace(rank, key).second)
      continue;
    IdMessage message{rank, key, {}};
    std::memcpy(message.bytes, entry.bytes, sizeof(message.bytes));
    sendAll(targets, message);
  }
}

void Mirror::sendEndpoints(const Targets &targets, int first, int count) const {
  for (int rank = first; rank < first + count; ++rank) {
    const RankArea &area = control.rank(rank);
    EndpointMessage message{rank, area.endpoint, {}};
    message.endpoint.listeningFd = -1;
    std::memcpy(message.host, area.host, sizeof(message.host));
    sendAll(targets, message);
  }
}

void Mirror::sendStart(const Targets &targets) {
  for (int i = 0; i < placement.rankCount; ++i) {
    int rank = placement.firstRank + i;
    const RankArea &area = control.rank(rank);
    if (!sentReady[i] && area.isReady.load(std::memory_order_acquire)) {
      ReadyMessage message{rank, {}, {}};
      std::memcpy(message.host, area.host, sizeof(message.host));
      std::memcpy(message.device, area.device, sizeof(message.device));
      sendAll(targets, message);
      sentReady[i] = true;
    }
    sendIds(rank, targets);
  }
}

void Mirror::sendRecords(const Targets &targets) {
  for (int i = 0; i < placement.rankCount; ++i) {
    int rank = placement.firstRank + i;
    const RankArea &area = control.rank(rank);
    for (uint32_t &next = sentRecords[i]; next < area.stepsDone.load(std::memory_order_acquire); ++next) {
      RecordMessage message{rank, next, area.records[next % stepRing]};
      for (int64_t *time : {&message.record.startNs, &message.record.endNs, &message.record.notFinite.ns})
        *time += clockOffsetNs;
      sendAll(targets, message);
    }
  }
}

void Mirror::sendSaved(const Targets &targets) {
  for (int i = 0; i < placement.rankCount; ++i) {
    int rank = placement.firstRank + i;
    const RankArea &area = control.rank(rank);
    int64_t saved = area.saved.load(std::memory_order_acquire);
    if (saved == sentSaved[i])
      continue;
    SavedMessage message{rank, saved, {}};
    std::memcpy(message.failure, area.saveFailure, sizeof(message.failure));
    sendAll(targets, message);
    sentSaved[i] = saved;
  }
}

void Mirror::sendPlaces(const Targets &targets) const {
  for (int i = 0; i < placement.rankCount; ++i) {
    int rank = placement.firstRank + i;
    const RankArea &area = control.rank(rank);
    PlaceMessage message{rank,     area.waitsFor.load(), area.activity.load(), area.step.load(), area.mb.load(), {}, {},
                         area.call};
    std::memcpy(message.task, area.task, sizeof(message.task));
    std::memcpy(message.operation, area.operation, sizeof(message.operation));
    sendAll(targets, message);
  }
}

template <size_t bytes> static void endText(char (&text)[bytes]) { text[bytes - 1] = 0; }
static void endTexts(HelloMessage &m) { endText(m.fingerprint), endText(m.host); }
static void endTexts(WelcomeMessage &m) { endText(m.exportFile), endText(m.gradientsFile); }
static void endTexts(EndpointMessage &m) { endText(m.endpoint.address), endText(m.host); }
static void endTexts(ReadyMessage &m) { endText(m.host), endText(m.device); }
static void endTexts(PlaceMessage &m) { endText(m.task), endText(m.operation); }
static void endTexts(SavedMessage &m) { endText(m.failure); }
static void endTexts(FailureMessage &m) { endText(m.text), endText(m.checkpoint), endText(m.late.transfer); }
static void endTexts(IdMessage &) {}
static void endTexts(RecordMessage &) {}
static void endTexts(ReadMessage &) {}

template <typename Message> Message decode(const std::string &data) {
  Message message;
  if (data.size() != sizeof(message))
    internalError("a message between launchers has {} bytes, expected {}; are all of the same version of p3dc?",
                  data.size(), sizeof(message));
  std::memcpy(static_cast<void *>(&message), data.data(), sizeof(message));
  endTexts(message);
  return message;
}
template HelloMessage decode(const std::string &);
template WelcomeMessage decode(const std::string &);
template FailureMessage decode(const std::string &);
template ReadyMessage decode(const std::string &);
template IdMessage decode(const std::string &);

void checkRank(const Control &control, int rank) {
  if (rank < 0 || rank >= control.worldSize())
    internalError("a message between launchers is about rank {} of {}", rank, control.worldSize());
}

/// The area of the rank that a message is about.
template <typename Message> static RankArea &areaOf(const Control &control, const Message &message) {
  checkRank(control, message.rank);
  return control.rank(message.rank);
}

void Mirror::applyEndpoint(const std::string &data, const std::string &address) const {
  EndpointMessage message = decode<EndpointMessage>(data);
  RankArea &area = areaOf(control, message);
  // One's own are known better.
  if (message.rank >= placement.firstRank && message.rank < placement.firstRank + placement.rankCount)
    return setText(area.endpoint.address, "127.0.0.1");
  area.endpoint = message.endpoint;
  std::memcpy(area.host, message.host, sizeof(area.host));
  if (!area.endpoint.address[0])
    setText(area.endpoint.address, address);
}

static void applyReady(const Control &control, const ReadyMessage &message) {
  RankArea &area = areaOf(control, message);
  std::memcpy(area.host, message.host, sizeof(area.host));
  std::memcpy(area.device, message.device, sizeof(area.device));
  area.isReady.store(1, std::memory_order_release);
}

static void applyId(const Control &control, const IdMessage &message) {
  checkRank(control, message.rank);
  UniqueId &entry = control.uniqueId(message.rank, message.key);
  std::memcpy(entry.bytes, message.bytes, sizeof(entry.bytes));
  signal(entry.isGiven);
}

static void applyPlace(const Control &control, const PlaceMessage &message) {
  RankArea &area = areaOf(control, message);
  area.waitsFor.store(message.waitsFor), area.activity.store(message.activity);
  area.step.store(message.step), area.mb.store(message.mb);
  setText(area.task, message.task), setText(area.operation, message.operation);
  area.call = message.call;
  area.heardNs.store(monotonicNs(), std::memory_order_relaxed);
}

static void applyRecord(const Control &control, const RecordMessage &message) {
  RankArea &area = areaOf(control, message);
  area.records[message.index % stepRing] = message.record;
  area.stepsDone.store(message.index + 1, std::memory_order_release);
}

static void applySaved(const Control &control, const SavedMessage &message) {
  RankArea &area = areaOf(control, message);
  setText(area.saveFailure, message.failure);
  area.saved.store(message.step, std::memory_order_release);
}

static void applyRead(const Control &control, const ReadMessage &message) {
  control.header().stepsRead.store(message.steps, std::memory_order_release);
  futexWake(control.header().stepsRead);
  control.header().checkpoints.store(message.checkpoints, std::memory_order_release);
  futexWake(control.header().checkpoints);
}

bool Mirror::apply(MessageKind kind, const std::string &data) {
  switch (kind) {
  case MessageKind::Ready:
    return applyReady(control, decode<ReadyMessage>(data)), true;
  case MessageKind::Id:
    return applyId(control, decode<IdMessage>(data)), true;
  case MessageKind::Place:
    return applyPlace(control, decode<PlaceMessage>(data)), true;
  case MessageKind::Record:
    return applyRecord(control, decode<RecordMessage>(data)), true;
  case MessageKind::Saved:
    return applySaved(control, decode<SavedMessage>(data)), true;
  case MessageKind::Read:
    return applyRead(control, decode<ReadMessage>(data)), true;
  case MessageKind::Start:
    control.header().mayStart.store(1, std::memory_order_release);
    return futexWake(control.header().mayStart), true;
  case MessageKind::Hello:
  case MessageKind::Welcome:
  case MessageKind::Endpoint:
  case MessageKind::Failure:
  case MessageKind::Finished:
  case MessageKind::End:
    return false;
  }
  internalError("a message between launchers has the unknown kind {}", uint32_t(kind));
}

} // namespace p3d
