// The link of a message is that of the slowest group which sends it.
#include "compiler/MessageCosts.h"
#include "passes/Support/CostModel.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;

MessageCosts::MessageCosts(ModuleOp module, RankOrder::Kind rankOrder, const Cluster &cluster)
    : module(module), mesh(module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr)),
      order({mesh.getTp(), mesh.getPp(), mesh.getDp()}, rankOrder), cluster(cluster) {}

double MessageCosts::secondsOf(const Message &message) {
  return messageSeconds(message.kind, message.tensorBytes, message.ranks, linkOf(message));
}

RankGroups MessageCosts::groupsOf(const Message &message) const {
  if (message.kind == "send")
    return order.getStageGroups({int64_t(StageOp(message.stage).getIndex()), message.to});
  if (message.axis == "tp")
    return order.getTpGroups();
  if (message.axis == dist::stringifyAxis(dist::Axis::TPMajor))
    return order.getTpMajorGroups(mesh.getTpMinor());
  if (message.axis == dist::stringifyAxis(dist::Axis::TPMinor))
    return order.getTpMinorGroups(mesh.getTpMinor());
  if (message.axis == "dp")
    return order.getDpGroups();
  if (auto tied = dyn_cast_or_null<ReduceTiedOp>(message.op))
    return order.getStageGroups(tied.getStages());
  return order.getNormGroups(isSharedByReplicas(module));
}

const Link &MessageCosts::linkOf(const Message &message) {
  int64_t index = StageOp(message.stage).getIndex();
  auto tied = dyn_cast_or_null<ReduceTiedOp>(message.op);
  const Link *&slowest = links[{message.axis, index, tied ? int64_t(tied.getGroup()) : message.to}];
  if (slowest)
    return *slowest;
  slowest = &cluster.inNode;
  for (const std::vector<int64_t> &group : groupsOf(message)) {
    auto isHere = [&](int64_t rank) { return order.coordinatesOf(rank).pp == index; };
    if (const Link &link = cluster.linkOf(group);
        llvm::any_of(group, isHere) && link.bytesPerSecond < slowest->bytesPerSecond)
      slowest = &link;
  }
  return *slowest;
}
