#include "runtime/tools/p3d-run/Cluster/Member.h"
#include "runtime/tools/p3d-run/Cluster/Timing.h"
#include <cstring>

namespace p3d {

Member::Member(const Placement &placement, const Control &control, const RunFacts &facts)
    : placement(placement), control(control), facts(facts), mirror(control, placement), startNs(monotonicNs()) {}

void Member::connect() {
  FileDescriptor socket = connectTo(placement.address, placement.port, connectFailure);
  if (socket.get() >= 0) {
    link = std::make_unique<Link>(std::move(socket));
    greet();
  }
}

void Member::greet() {
  HelloMessage hello{
      HelloMessage::magicNumber, facts.options, placement.worldSize, placement.firstRank, placement.rankCount, {}, {}};
  setText(hello.fingerprint, facts.fingerprint);
  setText(hello.host, hostName());
  link->send(hello);
  mirror.sendEndpoints({link.get()}, placement.firstRank, placement.rankCount);
}

bool Member::join() {
  if (!link)
    connect(); // the root may be slower
  if (link && !hears()) {
    // The root of a run that has failed leaves, and comes again.
    if (isWelcome || secondsSince(startNs) > 2 * farewellSeconds)
      throwGone();
    link.reset();
  }
  // Of ranks that do not come the root knows more.
  double limit = facts.timeoutSeconds + (link ? facts.silenceSeconds : 0);
  if (!isWelcome && secondsSince(startNs) > limit)
    throw Error(
        ExitCode::RankFailure,
        link ? fmt::format("the launcher of rank 0 at {} has not said in {} s that all ranks are there", root(), limit)
             : fmt::format("the launcher of rank 0 cannot be reached at {} in {} s: {}; MASTER_ADDR and "
                           "MASTER_PORT say where it is",
                           root(), limit, connectFailure));
  return isWelcome;
}

std::vector<pollfd> Member::sockets() const {
  return link ? std::vector<pollfd>{{link->socket(), link->events(), 0}} : std::vector<pollfd>{};
}

bool Member::hears() {
  return link->receive([this](MessageKind kind, const std::string &data) { take(kind, data); }) || isOver;
}

void Member::receive() {
  if (!hears())
    throwGone();
}

void Member::throwGone() const {
  throw Error(ExitCode::RankFailure,
              fmt::format("the launcher of rank 0 at {} is gone; the ranks here are stopped", root()));
}

void Member::take(MessageKind kind, const std::string &data) {
  if (mirror.apply(kind, data))
    return;
  if (kind == MessageKind::Failure) {
    FailureMessage failure = decode<FailureMessage>(data);
    throw RemoteError(ExitCode(failure.code), failure.text, {failure.checkpoint, failure.isStopped != 0});
  }
  // Where the root is reached from here, its ranks are too.
  if (kind == MessageKind::Endpoint)
    mirror.applyEndpoint(data, addressOf(*link));
  if (kind == MessageKind::Welcome) {
    WelcomeMessage welcome = decode<WelcomeMessage>(data);
    control.header().run = welcome.run;
    facts.exportFile = welcome.exportFile, facts.gradientsFile = welcome.gradientsFile;
    mirror.setClockOffset(welcome.rootNs - monotonicNs());
    isWelcome = true;
  }
  isOver = isOver || kind == MessageKind::End;
}

void Member::exchange() {
  Targets targets{link.get()};
  mirror.sendStart(targets);
  mirror.sendRecords(targets);
  mirror.sendSaved(targets);
  if (secondsSince(placesNs) > heartbeatSeconds) {
    mirror.sendPlaces(targets);
    placesNs = monotonicNs();
  }
  link->flush();
  receive();
  if (!isOver && secondsSince(link->lastHeardNs()) > facts.silenceSeconds)
    throw Error(ExitCode::RankFailure,
                fmt::format("the launcher of rank 0 at {} has said nothing for {:.0f} s; the ranks "
                            "here are stopped",
                            root(), secondsSince(link->lastHeardNs())));
}

bool Member::finish() {
  exchange();
  if (!isFinished)
    link->send(FinishedMessage{});
  isFinished = true;
  return isOver;
}

bool Member::fail(const Error &error, LastWord &word) {
  if (!link)
    return false;
  if (auto *remote = dynamic_cast<const RemoteError *>(&error)) {
    word = remote->word;
    return true;
  }
  mirror.sendPlaces({link.get()});
  const ControlHeader &header = control.header();
  bool isOfRank = header.failed.load(std::memory_order_acquire) == 2;
  FailureMessage failure{isOfRank ? header.failedRank : placement.firstRank,
                         int32_t(error.code()),
                         word.isStopped,
                         isOfRank ? header.late : LateWait{},
                         {},
                         {}};
  std::strncpy(failure.text, error.what(), sizeof(failure.text) - 1);
  link->send(failure);
  // The root ends all; its word comes back.
  try {
    for (int64_t since = monotonicNs(); secondsSince(since) < farewellSeconds;) {
      pollfd socket{link->socket(), link->events(), 0};
      poll(&socket, 1, 100);
      link->flush();
      receive();
    }
  } catch (const RemoteError &remote) {
    word = remote.word;
    return true;
  } catch (const Error &) {
  }
  return false;
}

} // namespace p3d
