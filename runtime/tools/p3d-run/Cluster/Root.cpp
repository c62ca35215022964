#include "runtime/tools/p3d-run/Cluster/Root.h"
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/tools/p3d-run/Cluster/Timing.h"
#include <algorithm>
#include <cstring>

namespace p3d {

Root::Root(const Placement &placement, const Build &build, const Control &control, const RunFacts &facts)
    : placement(placement), build(build), control(control), facts(facts), mirror(control, placement),
      listening(listenAt(placement.port)), startNs(monotonicNs()) {}

static std::vector<int> rankList(int first, int count) {
  std::vector<int> ranks;
  for (int rank = first; rank < first + count; ++rank)
    ranks.push_back(rank);
  return ranks;
}

std::string Root::Peer::name() const {
  return fmt::format("the launcher of ranks {} on {}", listRanks(rankList(firstRank, rankCount)), host);
}

void Root::acceptPeers() {
  for (;;) {
    FileDescriptor socket = acceptFrom(listening.get());
    if (socket.get() < 0)
      return;
    // Who comes after the start is no part of this run; who comes to its failure hears of it.
    if (!isJoined)
      peers.push_back(std::make_unique<Peer>(Link(std::move(socket))));
  }
}

std::vector<int> Root::missingRanks() const {
  std::vector<int> missing;
  bool areNeeded = control.rank(0).endpoint.port != 0;
  auto hasEndpoint = [&](int rank) { return !areNeeded || control.rank(rank).endpoint.port != 0; };
  for (int rank = placement.rankCount; rank < placement.worldSize; ++rank)
    if (std::none_of(peers.begin(), peers.end(), [&](const auto &peer) {
          return peer->isKnown() && hasEndpoint(rank) && rank >= peer->firstRank && rank < peer->firstRank + peer->rankCount;
        }))
      missing.push_back(rank);
  return missing;
}

bool Root::join() {
  acceptPeers();
  for (auto &peer : peers)
    receive(*peer);
  peers.erase(std::remove_if(peers.begin(), peers.end(), [](const auto &peer) { return peer->isGone; }), peers.end());
  std::vector<int> missing = missingRanks();
  if (!missing.empty() && secondsSince(startNs) > facts.timeoutSeconds)
    throw Error(ExitCode::RankFailure,
                fmt::format("ranks {} have not come to port {} of {} within {} s; all {} are to be started together",
                            listRanks(missing), placement.port, hostName(), facts.timeoutSeconds, placement.worldSize));
  if (missing.empty())
    welcome();
  return isJoined;
}

void Root::checkAlike(const Peer &peer, const HelloMessage &hello) const {
  auto refuse = [&](const std::string &what) {
    throw Error(ExitCode::RankFailure, fmt::format("{} {}", peer.name(), what));
  };
  if (hello.worldSize != placement.worldSize)
    refuse(fmt::format("has a program of {} ranks, and rank 0 one of {}; give all the same directory", hello.worldSize,
                       placement.worldSize));
  if (facts.fingerprint != hello.fingerprint)
    refuse("has another program than rank 0; give all the same directory, or compile again");
  if (hello.options != facts.options)
    refuse("was started with other flags than rank 0; give all the same");
}

void Root::greet(Peer &peer, const HelloMessage &hello) {
  if (hello.magic != HelloMessage::magicNumber || hello.firstRank < 0 || hello.rankCount < 1) {
    peer.isGone = true; // a stranger
    return;
  }
  Peer named(Link{FileDescriptor()});
  named.firstRank = hello.firstRank, named.rankCount = hello.rankCount, named.host = hello.host;
  checkAlike(named, hello);
  for (const auto &other : peers)
    if (other->isKnown() && hello.firstRank < other->firstRank + other->rankCount &&
        other->firstRank < hello.firstRank + hello.rankCount)
      throw Error(ExitCode::RankFailure, fmt::format("{} and {} have ranks in common; each is to be started once",
                                                     other->name(), named.name()));
  peer.firstRank = named.firstRank, peer.rankCount = named.rankCount, peer.host = named.host;
}

void Root::welcome() {
  bool hasFiles = !facts.exportFile.empty() || !facts.gradientsFile.empty();
  for (const auto &peer : peers)
    if (hasFiles && peer->isKnown() && peer->host != hostName())
      throw Error(ExitCode::UserError,
                  fmt::format("--export and --dump-grads let all ranks write into one file, and {} and {} are two "
                              "machines; leave them out, or run on one machine",
                              hostName(), peer->host));
  mirror.sendEndpoints(others(), 0, placement.worldSize);
  WelcomeMessage message{control.header().run, monotonicNs(), {}, {}};
  std::strncpy(message.exportFile, facts.exportFile.c_str(), sizeof(message.exportFile) - 1);
  std::strncpy(message.gradientsFile, facts.gradientsFile.c_str(), sizeof(message.gradientsFile) - 1);
  for (Link *link : others())
    link->send(message);
  peers.erase(std::remove_if(peers.begin(), peers.end(), [](const auto &peer) { return !peer->isKnown(); }),
              peers.end());
  for (int rank = 0; rank < placement.worldSize; ++rank)
    if (Endpoint &endpoint = control.rank(rank).endpoint; !endpoint.address[0])
      setText(endpoint.address, "127.0.0.1");
  isJoined = true;
}

Targets Root::others(const Peer *but) {
  Targets links;
  for (auto &peer : peers)
    if (peer.get() != but && peer->isKnown() && !peer->isGone)
      links.push_back(&peer->link);
  return links;
}

std::vector<pollfd> Root::sockets() const {
  std::vector<pollfd> watched = {{listening.get(), POLLIN, 0}};
  for (const auto &peer : peers)
    if (!peer->isGone)
      watched.push_back({peer->link.socket(), peer->link.events(), 0});
  return watched;
}

void Root::receive(Peer &peer) {
  if (peer.isGone)
    return;
  bool isThere = peer.link.flush() && peer.link.receive([&](MessageKind kind, const std::string &data) {
    if (!peer.isGone)
      take(peer, kind, data);
  });
  peer.isGone = peer.isGone || !isThere;
  if (!peer.isKnown() || isEnding)
    return;
  double silence = secondsSince(peer.link.lastHeardNs());
  if (peer.isGone)
    throw Error(ExitCode::RankFailure, fmt::format("{} is gone; rank {} was {}; all ranks are stopped", peer.name(),
                                                   peer.firstRank, describePlace(control, peer.firstRank)));
  if (isJoined && silence > facts.silenceSeconds)
    throw Error(ExitCode::RankFailure,
                fmt::format("{} has said nothing for {:.0f} s; rank {} was {}; all ranks are stopped", peer.name(),
                            silence, peer.firstRank, describePlace(control, peer.firstRank)));
}

void Root::take(Peer &peer, MessageKind kind, const std::string &data) {
  if (!peer.isKnown()) {
    if (kind != MessageKind::Hello || data.size() != sizeof(HelloMessage))
      peer.isGone = true;
    else
      greet(peer, decode<HelloMessage>(data));
    return;
  }
  if (kind == MessageKind::Failure)
    report(decode<FailureMessage>(data));
  if (kind == MessageKind::Endpoint)
    mirror.applyEndpoint(data, peerAddress(peer.link.socket()));
  if (kind == MessageKind::Ready)
    for (Link *link : others(&peer))
      link->send(decode<ReadyMessage>(data));
  if (kind == MessageKind::Id)
    for (Link *link : others(&peer))
      link->send(decode<IdMessage>(data));
  if (!mirror.apply(kind, data))
    peer.isFinished = peer.isFinished || kind == MessageKind::Finished;
}

void Root::report(const FailureMessage &failure) {
  checkRank(control, failure.rank);
  // Only here is known where all ranks are.
  std::string text = failure.text;
  if (failure.late.kind != LateKind::None)
    text = describeLate(control, *build.programs[failure.rank], failure.rank, failure.late);
  if (failure.isStopped)
    throw Stopped(ExitCode(failure.code), text);
  throw Error(ExitCode(failure.code), text);
}

void Root::exchange() {
  acceptPeers();
  mirror.sendStart(others());
  uint32_t read = control.header().stepsRead.load(), saved = control.header().checkpoints.load();
  if (read != readSent || saved != savedSent || secondsSince(readNs) > heartbeatSeconds) {
    for (Link *link : others())
      link->send(ReadMessage{read, saved});
    readSent = read, savedSent = saved, readNs = monotonicNs();
  }
  for (auto &peer : peers)
    receive(*peer);
}

void Root::start() {
  for (Link *link : others())
    link->send(StartMessage{});
}

template <typename Message> void Root::sayFarewell(const Message &message) {
  isEnding = true;
  // A connection that is closed too early may lose what was sent last.
  for (int64_t since = monotonicNs(); secondsSince(since) < farewellSeconds && (!isJoined || !areAllGone());) {
    acceptPeers();
    for (auto &peer : peers)
      if (!std::exchange(peer->hasFarewell, true))
        peer->link.send(message);
    std::vector<pollfd> watched = sockets();
    poll(watched.data(), watched.size(), 50);
    for (auto &peer : peers)
      peer->isGone =
          peer->isGone || !peer->link.flush() || !peer->link.receive([](MessageKind, const std::string &) {});
  }
}

bool Root::areAllGone() const {
  return std::all_of(peers.begin(), peers.end(), [](const auto &peer) { return peer->isGone; });
}

bool Root::finish() {
  exchange();
  if (!std::all_of(peers.begin(), peers.end(), [](const auto &peer) { return peer->isFinished; }))
    return false;
  sayFarewell(EndMessage{});
  return true;
}

bool Root::fail(const Error &error, LastWord &word) {
  FailureMessage failure{0, int32_t(error.code()), word.isStopped, {}, {}, {}};
  std::strncpy(failure.text, error.what(), sizeof(failure.text) - 1);
  std::strncpy(failure.checkpoint, word.checkpoint.c_str(), sizeof(failure.checkpoint) - 1);
  sayFarewell(failure);
  return false;
}

} // namespace p3d
