// The launcher of rank 0.
#pragma once
#include "runtime/tools/p3d-run/Cluster/Cluster.h"

namespace p3d {

class Root : public Cluster {
public:
  Root(const Placement &placement, const Build &build, const Control &control, const RunFacts &facts);
  bool join() override;
  RunFacts agreed() const override { return facts; }
  std::vector<pollfd> sockets() const override;
  void exchange() override;
  void start() override;
  bool finish() override;
  bool fail(const Error &error, LastWord &word) override;

private:
  /// A connection; a launcher once it has said who it is.
  struct Peer {
    explicit Peer(Link link) : link(std::move(link)) {}
    Link link;
    int firstRank = -1, rankCount = 0;
    std::string host;
    bool isFinished = false, isGone = false, hasFarewell = false;
    bool isKnown() const { return firstRank >= 0; }
    std::string name() const;
  };
  void acceptPeers();
  void receive(Peer &peer);
  void take(Peer &peer, MessageKind kind, const std::string &data);
  void greet(Peer &peer, const HelloMessage &hello);
  void checkAlike(const Peer &peer, const HelloMessage &hello) const;
  void welcome();
  std::vector<int> missingRanks() const;
  Targets others(const Peer *but = nullptr);
  /// Sends the last message to all, and lets them take it.
  template <typename Message> void sayFarewell(const Message &message);
  bool areAllGone() const;
  [[noreturn]] void report(const FailureMessage &failure);

  const Placement &placement;
  const Build &build;
  const Control &control;
  RunFacts facts;
  Mirror mirror;
  FileDescriptor listening;
  std::vector<std::unique_ptr<Peer>> peers;
  int64_t startNs, readNs = 0;
  uint32_t readSent = 0, savedSent = 0;
  bool isJoined = false, isEnding = false;
};

} // namespace p3d
