// manifest.json and plan.json, read off the stages.
#include "compiler/Manifest.h"
#include "compiler/ActivationsFormula.h"
#include "compiler/ManifestParameters.h"
#include "compiler/StepSimulation.h"
#include "compiler/Traffic.h"
#include "passes/Schedule/StageSchedule.h"
#include "passes/Support/CostModel.h"
#include "passes/Stage/Chain.h"
#include "passes/Support/Flops.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;
namespace json = llvm::json;

namespace {
/// The parts of the manifest, from one module.
class ManifestWriter {
public:
  ManifestWriter(ModuleOp module, const ManifestInputs &inputs)
      : module(module), inputs(inputs), mesh(module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr)),
        stages(collectStages(module)), order({mesh.getTp(), mesh.getPp(), mesh.getDp()}, inputs.rankOrder) {}

  json::Object makeManifest();
  json::Object makePlan();

private:
  json::Object common();
  json::Object groups();
  json::Array ranks();
  json::Array collectives(const Traffic &traffic);
  json::Array transfers(const Traffic &traffic);
  json::Object schedule(const ScheduleTiming &timing);
  json::Array classes();
  json::Array layersPerPart();
  json::Array orderLines();
  void addFlops(json::Object &manifest, double stepSeconds);

  ModuleOp module;
  const ManifestInputs &inputs;
  dist::MeshAttr mesh;
  SmallVector<StageOp> stages;
  RankOrder order;
};

json::Array toJson(const RankGroups &groups) {
  json::Array array;
  for (const std::vector<int64_t> &group : groups)
    array.push_back(json::Array(group));
  return array;
}

json::Array layersOf(StageOp stage) { return json::Array(stage.getLayers()); }

json::Object ManifestWriter::common() {
  return json::Object{{"version", 1},
                      {"model", inputs.model},
                      {"mesh", json::Object{{"tp", mesh.getTp()}, {"pp", mesh.getPp()}, {"dp", mesh.getDp()}}},
                      {"rank_order", order.getName()},
                      {"microbatches", mesh.getMb()}};
}

json::Object ManifestWriter::makeManifest() {
  Traffic traffic = countTraffic(module);
  BatchSize batch = findBatchSize(stages);
  json::Object manifest = common();
  manifest["global_batch"] = batch.rows;
  manifest["tokens_per_step"] = batch.tokens;
  manifest["params"] = describeParameters(stages);
  manifest["groups"] = groups();
  manifest["ranks"] = ranks();
  manifest["collectives"] = collectives(traffic);
  manifest["transfers"] = transfers(traffic);
  StepTiming timing = timeStep(module, inputs.rankOrder, inputs.cluster, inputs.costTable).timing;
  manifest["schedule"] = schedule(timing.schedule);
  manifest["step_time_us"] = timing.seconds * 1e6;
  addFlops(manifest, timing.seconds);
  manifest["activations_formula"] = json::Array(countActivations(module, inputs.recompute));
  return manifest;
}

json::Object ManifestWriter::makePlan() {
  json::Object plan = common();
  json::Object parameters;
  json::Object described = describeParameters(stages);
  for (auto &[name, entry] : *described.getObject("names"))
    parameters[name] = *entry.getAsObject()->get("sharding");
  if (llvm::any_of(stages, [](StageOp stage) { return stage.getLayers()[1] >= stage.getLayers()[0]; }))
    plan["stages"] = layersPerPart();
  if (int64_t chunks = stages.front().getNumChunks(); chunks > 1)
    plan["chunks"] = chunks;
  plan["classes"] = classes();
  plan["schedule"] = inputs.schedule;
  // What no function of sizes gives again.
  if (const NamedSchedule *named = findSchedule(inputs.schedule); !named || named->make == makeAuto)
    plan["order"] = orderLines();
  plan["zero"] = inputs.zero;
  plan["recompute"] = inputs.recompute;
  plan["sharding"] = std::move(parameters);
  return plan;
}

/// The dimensions that are cut alike, and over which axis.
json::Array ManifestWriter::classes() {
  json::Array array;
  if (auto described = module->getAttrOfType<ArrayAttr>(dist::kClassesAttr))
    for (auto entry : described.getAsRange<DictionaryAttr>()) {
      json::Object dims;
      for (NamedAttribute argument : entry.getAs<DictionaryAttr>("dims"))
        dims[argument.getName().getValue()] = json::Array(cast<DenseI64ArrayAttr>(argument.getValue()).asArrayRef());
      StringRef axis = entry.getAs<StringAttr>("axis").getValue();
      array.push_back(json::Object{{"axis", axis.empty() ? json::Value(nullptr) : json::Value(axis)},
                                   {"dims", std::move(dims)},
                                   {"units", entry.getAs<IntegerAttr>("units").getInt()}});
    }
  return array;
}

/// In the order of the chain.
json::Array ManifestWriter::orderLines() {
  json::Array lines;
  for (StageOp stage : stages)
    lines.push_back(llvm::join(llvm::map_range(readOrder(stage), toString), " "));
  return lines;
}

json::Array ManifestWriter::layersPerPart() {
  json::Array counts;
  int64_t count = stages.size(), parts = count * stages.front().getNumChunks();
  for (int64_t place = 0; place < parts; ++place) {
    auto [stage, chunk] = partAt(findPlacement(stages), place, count);
    auto [first, last] = stages[stage].getLayersOf(chunk);
    counts.push_back(last - first + 1);
  }
  return counts;
}

json::Object ManifestWriter::groups() {
  std::set<std::vector<int64_t>> tiedSets;
  module.walk([&](BufferOp buffer) {
    if (auto tied = buffer->getAttrOfType<DenseI64ArrayAttr>(kTiedStagesAttr))
      tiedSets.insert(tied.asArrayRef().vec());
  });
  json::Array tied;
  for (const std::vector<int64_t> &set : tiedSets)
    llvm::append_range(tied, toJson(order.getStageGroups(set)));
  json::Object groups{{"tp", toJson(order.getTpGroups())},
                      {"dp", toJson(order.getDpGroups())},
                      {"pp", toJson(order.getPpGroups())},
                      {"tied", std::move(tied)},
                      {"norm", toJson(order.getNormGroups(isSharedByReplicas(module)))}};
  if (mesh.getTpMinor() > 1) {
    groups["tp_major"] = toJson(order.getTpMajorGroups(mesh.getTpMinor()));
    groups["tp_minor"] = toJson(order.getTpMinorGroups(mesh.getTpMinor()));
  }
  return groups;
}

json::Array ManifestWriter::ranks() {
  json::Array ranks;
  for (int64_t rank = 0; rank < mesh.getRanks(); ++rank) {
    Coordinates at = order.coordinatesOf(rank);
    json::Object entry{{"rank", rank},
                       {"node", inputs.cluster.nodeOf(rank)},
                       {"device", inputs.cluster.deviceOf(rank)},
                       {"tp", at.tp},
                       {"pp", at.pp},
                       {"dp", at.dp},
                       {"layers", layersOf(stages[at.pp])},
                       {"program", "stage" + std::to_string(at.pp)}};
    if (!inputs.memory.empty()) {
      const StageMemory &memory = inputs.memory[at.pp];
      entry["memory"] = json::Object{{"params", memory.params},       {"grads", memory.grads},
                                     {"optimizer", memory.optimizer}, {"activations", memory.activations},
                                     {"workspace", memory.workspace}, {"total", memory.total}, {"least", memory.least}};
    }
    ranks.push_back(std::move(entry));
  }
  return ranks;
}

json::Array ManifestWriter::collectives(const Traffic &traffic) {
  json::Array array;
  for (const CollectiveTraffic &entry : traffic.collectives)
    array.push_back(json::Object{{"kind", entry.kind},
                                 {"axis", entry.axis},
                                 {"phase", entry.phase},
                                 {"stage", entry.stage},
                                 {"count", entry.count},
                                 {"bytes", entry.bytes},
                                 {"dtype", entry.dtype}});
  return array;
}

json::Array ManifestWriter::transfers(const Traffic &traffic) {
  json::Array array;
  for (const TransferTraffic &entry : traffic.transfers)
    array.push_back(
        json::Object{{"from", entry.from}, {"to", entry.to}, {"count", entry.count}, {"bytes", entry.bytes}});
  return array;
}

json::Object ManifestWriter::schedule(const ScheduleTiming &timing) {
  json::Array orderTexts, live;
  for (StageOp stage : stages) {
    StageOrder actions = readOrder(stage);
    json::Array texts;
    for (Action action : actions)
      texts.push_back(toString(action));
    orderTexts.push_back(std::move(texts));
    live.push_back(countLive(actions));
  }
  return json::Object{{"name", inputs.schedule},
                      {"order", std::move(orderTexts)},
                      {"makespan_us", timing.makespan * 1e6},
                      {"stage_span_us", timing.stageSpan * 1e6},
                      {"bubble", timing.bubble},
                      {"bubble_span", timing.bubbleSpan},
                      {"live", std::move(live)}};
}

/// The element type in which most of the products are.
std::string mostUsedType(ModuleOp module) {
  std::map<std::string, int64_t> flops;
  module.walk([&](graph::EinsumOp einsum) {
    flops[dtypeName(getElementTypeOrSelf(einsum.getLhs().getType()))] += countFlops(einsum).contractions;
  });
  auto most = llvm::max_element(flops, [](auto &a, auto &b) { return a.second < b.second; });
  return most == flops.end() ? "f32" : most->first;
}

/// Utilisation is what the model asks for, of what all devices could do in the time.
void ManifestWriter::addFlops(json::Object &manifest, double stepSeconds) {
  Flops flops;
  for (StageOp stage : stages)
    for (TaskOp task : stage.getBody().getOps<TaskOp>())
      flops += countFlops(task.getBody().front()) * (runsPerStep(task.getKind(), mesh) * mesh.getTp() * mesh.getDp());
  manifest["flops_per_step"] = flops.contractions + flops.attention;
  Flops model = inputs.modelFlops.value_or(flops);
  manifest["model_flops_per_step"] = model.ofModel(/*inFull=*/true);
  double peak = peakFlops(inputs.cluster, mesh.getRanks(), mostUsedType(module));
  manifest["mfu"] = model.ofModel(/*inFull=*/true) / stepSeconds / peak;
  manifest["mfu_causal"] = model.ofModel(/*inFull=*/false) / stepSeconds / peak;
}
} // namespace

json::Object p3d::makeManifest(ModuleOp module, const ManifestInputs &inputs) {
  return ManifestWriter(module, inputs).makeManifest();
}

json::Object p3d::makePlan(ModuleOp module, const ManifestInputs &inputs) {
  return ManifestWriter(module, inputs).makePlan();
}
