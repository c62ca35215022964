// A launcher that is not the root.
#pragma once
#include "runtime/tools/p3d-run/Cluster/Cluster.h"

namespace p3d {

class Member : public Cluster {
public:
  Member(const Placement &placement, const Control &control, const RunFacts &facts);
  bool join() override;
  RunFacts agreed() const override { return facts; }
  std::vector<pollfd> sockets() const override;
  void exchange() override;
  void start() override {} // the root's to say
  bool finish() override;
  bool fail(const Error &error, LastWord &word) override;

private:
  void connect();
  void greet();
  /// Takes what the root has said; false: it is gone.
  bool hears();
  [[noreturn]] void throwGone() const;
  void receive();
  void take(MessageKind kind, const std::string &data);
  std::string root() const { return fmt::format("{}:{}", placement.address, placement.port); }

  const Placement &placement;
  const Control &control;
  RunFacts facts;
  Mirror mirror;
  std::unique_ptr<Link> link;
  int64_t startNs, placesNs = 0;
  bool isWelcome = false, isFinished = false, isOver = false;
  std::string connectFailure;
};

} // namespace p3d
