// How long the messages of a program take: on which links the groups of ranks lie, and what those cost.
#pragma once

#include "compiler/RankOrder.h"
#include "compiler/Traffic.h"
#include "passes/Support/Cluster.h"
#include <map>

namespace p3d {

class MessageCosts {
public:
  /// `cluster` is of known size and outlives this.
  MessageCosts(mlir::ModuleOp module, RankOrder::Kind rankOrder, const Cluster &cluster);

  /// Seconds of `message`, once.
  double secondsOf(const Message &message);

private:
  /// That of the slowest of the groups that the message's stage takes part in.
  const Link &linkOf(const Message &message);
  RankGroups groupsOf(const Message &message) const;

  mlir::ModuleOp module;
  dist::MeshAttr mesh;
  RankOrder order;
  const Cluster &cluster;
  /// By axis, stage, and the other stage or the tied group.
  std::map<std::tuple<std::string, int64_t, int64_t>, const Link *> links;
};

} // namespace p3d
