// Counts collectives and transfers. Ring volumes: all-reduce 2(n-1)/n of the tensor, the others (n-1)/n of the whole
// tensor.
#include "compiler/Traffic.h"
#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace p3d;
using namespace p3d::dist;
using namespace p3d::pipe;

std::string p3d::dtypeName(Type element) {
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return name;
}

int64_t p3d::runsPerStep(TaskKind kind, MeshAttr mesh) {
  switch (kind) {
  case TaskKind::Prologue:
  case TaskKind::Synchronize:
  case TaskKind::Update:
    return 1;
  case TaskKind::Forward:
  case TaskKind::Backward:
  case TaskKind::WeightGradient:
    return mesh.getMb();
  }
  llvm_unreachable("a kind of task");
}

namespace {
StringRef phaseName(TaskKind kind) {
  switch (kind) {
  case TaskKind::Prologue:
    return "prologue";
  case TaskKind::Forward:
    return "forward";
  case TaskKind::Backward:
  case TaskKind::WeightGradient:
    return "backward";
  case TaskKind::Synchronize:
  case TaskKind::Update:
    return "update";
  }
  llvm_unreachable("a kind of task");
}

int64_t countBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

class Counter {
public:
  explicit Counter(ModuleOp module) : module(module), mesh(module->getAttrOfType<MeshAttr>(kMeshAttr)) {}

  Traffic run() {
    for (StageOp stage : module.getOps<StageOp>())
      for (TaskOp task : stage.getBody().getOps<TaskOp>()) {
        at = {int64_t(stage.getIndex()), task.getKind()};
        countBody(task.getBody().front());
      }
    if (mesh)
      countNorms();
    return collect();
  }

private:
  struct Place {
    int64_t stage;
    TaskKind task;
  };
  struct Volume {
    int64_t count = 0, bytes = 0;
  };

  void countBody(Block &body) {
    for (Operation &op : body)
      countOp(&op);
  }

  void countOp(Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](graph::CallOp call) { countBody(call.lookupBlock().getBody().front()); })
        .Case([&](AllReduceOp reduce) { add("all_reduce", reduce.getAxis(), 2, reduce.getType()); })
        .Case([&](AllGatherOp gather) { add("all_gather", gather.getAxis(), 1, gather.getType()); })
        .Case([&](ReduceScatterOp scatter) {
          add("reduce_scatter", scatter.getAxis(), 1, scatter.getOperand().getType());
        })
        .Case([&](AllToAllOp exchange) { add("all_to_all", exchange.getAxis(), 1, exchange.getOperand().getType()); })
        .Case([&](SynchronizeOp sync) { countSynchronize(sync); })
        .Case([&](ReduceTiedOp tied) {
          Type type = op->getParentOfType<StageOp>().getBuffer(tied.getBuffer()).getType();
          add("all_reduce", "tied", tied.getStages().size(), 2, countBytes(type), type);
        })
        .Case([&](SendOp send) {
          Volume &volume = transfers[{at.stage, send.getStage()}];
          volume.count += runsPerStep(at.task, mesh);
          volume.bytes += runsPerStep(at.task, mesh) * countBytes(send.getValue().getType());
        });
  }

  void countSynchronize(SynchronizeOp sync) {
    auto stage = sync->getParentOfType<StageOp>();
    int64_t bytes = 0;
    Type type;
    for (auto name : sync.getBuffers().getAsRange<FlatSymbolRefAttr>()) {
      type = stage.getBuffer(name.getValue()).getType();
      bytes += countBytes(type);
    }
    if (auto axis = symbolizeAxis(sync.getAxis()))
      add("all_reduce", sync.getAxis(), mesh.getSize(*axis), 2, bytes, type);
  }

  /// The norm of the gradient is one f32 sum over the ranks of a replica, made by the runtime before the update.
  void countNorms() {
    for (StageOp stage : module.getOps<StageOp>()) {
      at = {int64_t(stage.getIndex()), TaskKind::Update};
      if (stage.getTask(TaskKind::Update))
        add("all_reduce", "norm", mesh.getTp() * mesh.getPp(), 2, 4, Float32Type::get(module.getContext()));
    }
  }

  void add(StringRef kind, Axis axis, int64_t passes, Type type) {
    add(kind, stringifyAxis(axis), mesh.getSize(axis), passes, countBytes(type), type);
  }

  /// `passes` (n-1)/n of `bytes`; nothing over an axis of one rank.
  void add(StringRef kind, StringRef axis, int64_t size, int64_t passes, int64_t bytes, Type type) {
    if (size <= 1)
      return;
    auto key =
        std::tuple(at.stage, phaseName(at.task).str(), kind.str(), axis.str(), dtypeName(getElementTypeOrSelf(type)));
    Volume &volume = collectives[key];
    volume.count += runsPerStep(at.task, mesh);
    volume.bytes += runsPerStep(at.task, mesh) * passes * (size - 1) * bytes / size;
  }

  Traffic collect() const {
    Traffic traffic;
    for (auto &[key, volume] : collectives) {
      auto &[stage, phase, kind, axis, dtype] = key;
      traffic.collectives.push_back({kind, axis, phase, stage, dtype, volume.count, volume.bytes});
    }
    for (auto &[ends, volume] : transfers)
      traffic.transfers.push_back({ends.first, ends.second, volume.count, volume.bytes});
    return traffic;
  }

  ModuleOp module;
  MeshAttr mesh;
  Place at{};
  std::map<std::tuple<int64_t, std::string, std::string, std::string, std::string>, Volume> collectives;
  std::map<std::pair<int64_t, int64_t>, Volume> transfers;
};
} // namespace

Traffic p3d::countTraffic(ModuleOp module) { return Counter(module).run(); }
