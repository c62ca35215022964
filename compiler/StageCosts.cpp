// Costs of tasks, from the operations of their blocks and the messages in them.
#include "compiler/StageCosts.h"
#include "compiler/MessageCosts.h"
#include "dialects/Graph/TensorBytes.h"
#include "passes/Memory/Fusion.h"
#include "passes/Schedule/StageSchedule.h"
#include "passes/Support/CostModel.h"
#include "passes/Support/Flops.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;

namespace {
double bytesOf(Type type) { return graph::bytesOf(cast<RankedTensorType>(type)); }

bool isForWeights(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(graph::kGradRoleAttr);
  return role && role.getValue() == "weight_grad";
}

/// Of a task: what a W would do, and the rest.
struct Seconds {
  double rest = 0, forWeights = 0;

  Seconds &operator+=(const Seconds &other) {
    rest += other.rest;
    forWeights += other.forWeights;
    return *this;
  }
  double total() const { return rest + forWeights; }
};

class CostAnalysis {
public:
  CostAnalysis(ModuleOp module, RankOrder::Kind rankOrder, const Cluster &cluster)
      : module(module), mesh(module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr)), cluster(cluster),
        messages(module, rankOrder, cluster) {}

  StepCosts run() {
    for (StageOp stage : collectStages(module)) {
      this->stage = stage;
      costs.stages.push_back({std::vector<TaskCosts>(stage.getNumChunks(), {0, 0, 0})});
      costs.stages.back().prologue = ofClearing();
      for (TaskOp task : stage.getBody().getOps<TaskOp>())
        add(task.getKind(), task.getChunk(), ofBlock(task.getBody().front()));
    }
    forEachMessage(module, [&](const Message &message) { addMessage(message); });
    return std::move(costs);
  }

private:
  void add(TaskKind kind, int64_t chunk, Seconds seconds);
  void addMessage(const Message &message);
  Seconds ofBlock(Block &block);
  double ofOperation(Operation *op, const memory::Fusion &fusion);
  double ofUpdate(UpdateOp update);
  double ofClearing();

  ModuleOp module;
  dist::MeshAttr mesh;
  const Cluster &cluster;
  MessageCosts messages;
  StageOp stage;
  DenseMap<Operation *, Seconds> blocks;
  StepCosts costs;
};

void CostAnalysis::add(TaskKind kind, int64_t chunk, Seconds seconds) {
  StageCost &cost = costs.stages[StageOp(stage).getIndex()];
  TaskCosts &tasks = cost.chunks[chunk];
  switch (kind) {
  case TaskKind::Prologue:
    cost.prologue += seconds.total();
    return;
  case TaskKind::Forward:
    tasks.forward += seconds.total();
    return;
  case TaskKind::Backward:
    tasks.backward += seconds.rest;
    tasks.weightGradient += seconds.forWeights;
    return;
  case TaskKind::WeightGradient:
    tasks.weightGradient += seconds.total();
    return;
  case TaskKind::Synchronize:
    cost.synchronize += seconds.total();
    return;
  case TaskKind::Update:
    cost.update += seconds.total();
    return;
  }
  llvm_unreachable("a kind of task");
}

void CostAnalysis::addMessage(const Message &message) {
  double seconds = messages.secondsOf(message);
  if (message.kind == "send") {
    costs.transfer = std::max(costs.transfer, seconds);
    return;
  }
  if (!message.op) {
    costs.norm = std::max(costs.norm, seconds);
    return;
  }
  stage = message.stage;
  bool forWeights = isForWeights(message.op);
  add(message.task, message.chunk, {forWeights ? 0 : seconds, forWeights ? seconds : 0});
  costs.stages[stage.getIndex()].messages += message.times * seconds;
}

Seconds CostAnalysis::ofBlock(Block &block) {
  memory::Fusion fusion(block);
  Seconds sum;
  for (Operation &op : block) {
    if (auto call = dyn_cast<graph::CallOp>(op)) {
      graph::BlockOp callee = call.lookupBlock();
      auto known = blocks.find(callee);
      if (known == blocks.end())
        known = blocks.try_emplace(callee, ofBlock(callee.getBody().front())).first;
      sum += known->second;
      continue;
    }
    (isForWeights(&op) ? sum.forWeights : sum.rest) += ofOperation(&op, fusion);
  }
  return sum;
}

/// A step begins with accumulators of zero.
double CostAnalysis::ofClearing() {
  double bytes = 0;
  for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::Gradient || buffer.getKind() == BufferKind::Result)
      bytes += bytesOf(buffer.getType());
  return workSeconds(0, bytes, "f32", cluster);
}

/// What the update of one element moves: the gradient is read, for the norm and once more; the state in f32, of which
/// `adamw` has two and `sgd` one and a parameter of 16 bits its master besides, read and written; the parameter too.
double CostAnalysis::ofUpdate(UpdateOp update) {
  BufferOp parameter = stage.getBuffer(update.getParameter());
  auto type = cast<RankedTensorType>(parameter.getType());
  ShareAttr share = shareOf(parameter);
  // Of a row that several parameters stand in, each has its part of the share.
  double elements = double(type.getNumElements()) / (share && !holdsShare(parameter) ? mesh.getDp() : 1);
  bool isNarrow = type.getElementTypeBitWidth() == 16;
  double states = (update.getOptimizer() == "adamw" ? 2 : 1) + (isNarrow ? 1 : 0);
  return workSeconds(0, elements * (8 + 8 * states + (isNarrow ? 2 : 8)), "f32", cluster);
}

/// Values that are computed inside the kernels of their users move nothing.
double CostAnalysis::ofOperation(Operation *op, const memory::Fusion &fusion) {
  if (auto update = dyn_cast<UpdateOp>(op))
    return ofUpdate(update);
  // The products add to the sums themselves, which reads them.
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return workSeconds(0, bytesOf(accumulate.getValue().getType()), "f32", cluster);
  // Other work on buffers is messages; a change of shape is another view.
  if (op->getName().getDialectNamespace() != graph::GraphDialect::getDialectNamespace() ||
      isa<graph::YieldOp, graph::ConstantOp, graph::ReshapeOp>(op))
    return 0;
  auto inMemory = [&](Value value) {
    while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
      value = reshape.getOperand();
    return isa<BlockArgument>(value) || fusion.hasMemory(value);
  };
  double written = 0, bytes = 0;
  for (Value result : op->getResults())
    if (inMemory(result))
      written += bytesOf(result.getType());
  // What picks rows, and changes of indices, reads no more than it makes.
  bool picks = isa<graph::EmbeddingOp, graph::GatherOp, graph::SliceOp, graph::BroadcastOp>(op);
  for (Value operand : op->getOperands())
    if (inMemory(operand))
      bytes += picks ? std::min(bytesOf(operand.getType()), bytesOf(op->getResult(0).getType()))
                     : bytesOf(operand.getType());
  bytes += written;
  Flops flops = countFlops(op);
  double launch = written > 0 ? cluster.launchSeconds : 0;
  auto peakType = op->getNumOperands() ? dtypeName(getElementTypeOrSelf(op->getOperand(0).getType())) : "f32";
  if (isa<graph::EinsumOp>(op))
    return launch + workSeconds(flops.contractions, bytes, peakType, cluster);
  // Its gradient computes the scores once more, which is no work of the model.
  if (isa<graph::AttentionOp>(op))
    return launch + workSeconds(flops.attention, bytes, peakType, cluster, Work::Attention);
  if (isa<graph::AttentionGradOp>(op))
    return launch + workSeconds(flops.attention * 5 / 4.0, bytes, peakType, cluster, Work::AttentionGradient);
  return launch + workSeconds(0, bytes, peakType, cluster);
}
} // namespace

ScheduleCosts StepCosts::ofSchedule() const {
  ScheduleCosts costs;
  for (const StageCost &stage : stages)
    costs.tasks.push_back(stage.chunks);
  costs.communication = transfer;
  return costs;
}

StepCosts p3d::stageCosts(ModuleOp module, RankOrder::Kind rankOrder, const Cluster &cluster) {
  return CostAnalysis(module, rankOrder, cluster).run();
}
