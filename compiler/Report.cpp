// What --report says, collected from the plan, and as JSON.
#include "compiler/Report.h"
#include "compiler/MessageCosts.h"
#include "passes/Schedule/StageSchedule.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;
namespace json = llvm::json;

namespace {
int64_t countParameters(StageOp stage) {
  int64_t count = 0;
  for (auto buffer : stage.getBody().getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::Parameter)
      count += cast<RankedTensorType>(buffer.getType()).getNumElements();
  return count;
}

std::map<std::string, AxisTraffic> countAxes(ModuleOp scheduled, const ManifestInputs &inputs) {
  MessageCosts costs(scheduled, inputs.rankOrder, inputs.cluster);
  std::map<std::string, std::map<int64_t, AxisTraffic>> byStage;
  forEachMessage(scheduled, [&](const Message &message) {
    AxisTraffic &sum = byStage[message.axis][StageOp(message.stage).getIndex()];
    sum.count += message.times;
    sum.bytes += message.bytes;
    sum.seconds += message.times * costs.secondsOf(message);
  });
  std::map<std::string, AxisTraffic> axes;
  for (auto &[axis, stages] : byStage)
    axes[axis] = llvm::max_element(stages, [](auto &a, auto &b) { return a.second.seconds < b.second.seconds; })->second;
  return axes;
}

double micro(double seconds) { return seconds * 1e6; }

json::Object toJson(const Report &report, size_t index) {
  const StageReport &stage = report.stages[index];
  const StageMemory &memory = report.memory[index];
  const StageCost &cost = report.step.costs.stages[index];
  constexpr size_t kShown = 8;
  json::Array holders;
  for (const MemoryHolder &holder : ArrayRef(memory.holders).take_front(kShown))
    holders.push_back(json::Object{{"what", holder.what}, {"bytes", holder.bytes}});
  TaskCosts tasks{0, 0, 0};
  for (const TaskCosts &chunk : cost.chunks)
    tasks = {tasks.forward + chunk.forward, tasks.backward + chunk.backward, tasks.weightGradient + chunk.weightGradient};
  return json::Object{{"stage", int64_t(index)},
                      {"layers", json::Array(stage.layers)},
                      {"parameters", stage.parameters},
                      {"state_bytes", memory.params + memory.grads + memory.optimizer},
                      {"activations_bytes", memory.activations},
                      {"total_bytes", memory.total},
                      {"holders", std::move(holders)},
                      {"forward_us", micro(tasks.forward)},
                      {"backward_us", micro(tasks.backward)},
                      {"weight_gradient_us", micro(tasks.weightGradient)},
                      {"idle_us", micro(stage.idle)},
                      {"prologue_us", micro(cost.prologue)},
                      {"synchronize_us", micro(cost.synchronize)},
                      {"update_us", micro(cost.update)},
                      {"message_us", micro(cost.messages)}};
}
} // namespace

Report p3d::makeReport(ModuleOp scheduled, const ManifestInputs &inputs) {
  Report report{makeManifest(scheduled, inputs), inputs.memory};
  report.step = timeStep(scheduled, inputs.rankOrder, inputs.cluster, inputs.costTable);
  report.axes = countAxes(scheduled, inputs);
  const ScheduleTiming &timing = report.step.timing.schedule;
  for (auto [stage, spans] : llvm::zip(collectStages(scheduled), timing.spans)) {
    double busy = 0;
    for (ActionSpan span : spans)
      busy += span.end - span.start;
    report.stages.push_back({stage.getLayers().vec(), countParameters(stage), timing.makespan - busy});
  }
  return report;
}

json::Object p3d::toJson(const Report &report, const Cluster &cluster) {
  json::Object object = report.manifest;
  object["cluster"] = json::Object{
      {"name", cluster.name}, {"nodes", cluster.nodes}, {"devices_per_node", cluster.devicesPerNode}};
  bool isLimited = report.deviceMemory > 0;
  object["device_memory"] = isLimited ? json::Value(report.deviceMemory) : json::Value(nullptr);
  object["fits"] = isLimited ? json::Value(report.fits()) : json::Value(nullptr);
  object["tokens_per_second"] = *report.manifest.getInteger("tokens_per_step") / report.step.timing.seconds;
  object["transfer_us"] = micro(report.step.costs.transfer);
  object["norm_us"] = micro(report.step.costs.norm);
  json::Array stages;
  for (size_t i = 0; i < report.stages.size(); ++i)
    stages.push_back(::toJson(report, i));
  object["stages"] = std::move(stages);
  json::Object axes;
  for (auto &[axis, traffic] : report.axes)
    axes[axis] = json::Object{
        {"count", traffic.count}, {"bytes", traffic.bytes}, {"seconds", traffic.seconds}};
  object["bytes_by_axis"] = std::move(axes);
  json::Array alternatives;
  for (const Alternative &plan : report.alternatives)
    alternatives.push_back(json::Object{
        {"flags", plan.flags}, {"step_time_us", micro(plan.stepSeconds)}, {"memory_bytes", plan.bytes}});
  object["alternatives"] = std::move(alternatives);
  return object;
}
