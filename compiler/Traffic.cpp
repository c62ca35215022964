// Counts collectives and transfers. Ring volumes: all-reduce 2(n-1)/n of the tensor, the others (n-1)/n of the whole
// tensor.
#include "compiler/Traffic.h"
#include "dialects/Graph/TensorBytes.h"
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

StringRef Message::getPhase() const {
  switch (task) {
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

namespace {
int64_t countBytes(Type type) { return graph::bytesOf(cast<RankedTensorType>(type)); }

class Walker {
public:
  Walker(ModuleOp module, llvm::function_ref<void(const Message &)> visit)
      : module(module), mesh(module->getAttrOfType<MeshAttr>(kMeshAttr)), visit(visit) {}

  void run() {
    for (StageOp stage : module.getOps<StageOp>()) {
      buffers.emplace(stage);
      for (TaskOp task : stage.getBody().getOps<TaskOp>()) {
        at = {stage, task.getKind(), int64_t(task.getChunk()), {}};
        visitBody(task.getBody().front());
      }
    }
    if (mesh)
      visitNorms();
  }

private:
  struct Place {
    StageOp stage;
    TaskKind task;
    int64_t chunk;
    graph::CallOp call;
  };

  void visitBody(Block &body) {
    for (Operation &op : body)
      visitOp(&op);
  }

  void visitOp(Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](graph::CallOp call) {
          graph::CallOp outer = std::exchange(at.call, call);
          visitBody(call.lookupBlock().getBody().front());
          at.call = outer;
        })
        .Case([&](AllReduceOp reduce) { collective(op, "all_reduce", reduce.getAxis(), 2, reduce.getType()); })
        .Case([&](AllGatherOp gather) { collective(op, "all_gather", gather.getAxis(), 1, gather.getType()); })
        .Case([&](ReduceScatterOp scatter) {
          collective(op, "reduce_scatter", scatter.getAxis(), 1, scatter.getOperand().getType());
        })
        .Case([&](AllToAllOp exchange) {
          collective(op, "all_to_all", exchange.getAxis(), 1, exchange.getOperand().getType());
        })
        .Case([&](SynchronizeOp sync) { visitBuffers(sync, sync.getBuffers(), "all_reduce", sync.getAxis(), 2); })
        .Case([&](ReduceSharesOp reduce) { visitBuffers(reduce, reduce.getBuffers(), "reduce_scatter", reduce.getAxis(), 1); })
        .Case([&](GatherSharesOp gather) { visitBuffers(gather, gather.getBuffers(), "all_gather", gather.getAxis(), 1); })
        .Case([&](ReduceTiedOp tied) {
          Type type = buffers->lookup<BufferOp>(tied.getBuffer()).getType();
          add(op, "all_reduce", "tied", tied.getStages().size(), 2, countBytes(type), type);
        })
        .Case([&](SendOp send) {
          Type type = send.getValue().getType();
          int64_t bytes = countBytes(type), times = runsPerStep(at.task, mesh);
          visit({at.stage, at.task, at.chunk, op, at.call, "send", "pp", 2, type, times, bytes, times * bytes, int64_t(send.getStage())});
        });
  }

  /// Several buffers in one message.
  void visitBuffers(Operation *op, ArrayAttr names, StringRef kind, StringRef over, int64_t passes) {
    int64_t bytes = 0;
    Type type;
    for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
      type = buffers->lookup<BufferOp>(name.getValue()).getType();
      bytes += countBytes(type);
    }
    if (auto axis = symbolizeAxis(over))
      add(op, kind, over, mesh.getSize(*axis), passes, bytes, type);
  }

  /// The norm of the gradient is one f32 sum over the ranks of a replica (of all replicas where they update shares), made by the runtime before the update.
  void visitNorms() {
    int64_t ranks = mesh.getTp() * mesh.getPp() * (isSharedByReplicas(module) ? mesh.getDp() : 1);
    Type type = RankedTensorType::get({}, Float32Type::get(module.getContext()));
    for (StageOp stage : module.getOps<StageOp>()) {
      at = {stage, TaskKind::Update, 0, {}};
      if (stage.getTask(TaskKind::Update))
        add(nullptr, "all_reduce", "norm", ranks, 2, countBytes(type), type);
    }
  }

  void collective(Operation *op, StringRef kind, Axis axis, int64_t passes, Type type) {
    add(op, kind, stringifyAxis(axis), mesh.getSize(axis), passes, countBytes(type), type);
  }

  /// `passes` (n-1)/n of `bytes`; nothing over an axis of one rank.
  void add(Operation *op, StringRef kind, StringRef axis, int64_t ranks, int64_t passes, int64_t bytes, Type type) {
    if (ranks <= 1)
      return;
    int64_t times = runsPerStep(at.task, mesh);
    visit({at.stage, at.task, at.chunk, op, at.call, kind.str(), axis.str(), ranks, type, times, bytes, times * passes * (ranks - 1) * bytes / ranks});
  }

  ModuleOp module;
  MeshAttr mesh;
  llvm::function_ref<void(const Message &)> visit;
  Place at{};
  std::optional<SymbolTable> buffers; ///< of the stage
};

struct Volume {
  int64_t count = 0, bytes = 0;
};
} // namespace

void p3d::forEachMessage(ModuleOp module, llvm::function_ref<void(const Message &)> visit) {
  Walker(module, visit).run();
}

bool p3d::isSharedByReplicas(ModuleOp module) {
  return module.walk([](BufferOp buffer) { return WalkResult(success(!shareOf(buffer))); }).wasInterrupted();
}

Traffic p3d::countTraffic(ModuleOp module) {
  std::map<std::tuple<int64_t, std::string, std::string, std::string, std::string>, Volume> collectives;
  std::map<std::pair<int64_t, int64_t>, Volume> transfers;
  forEachMessage(module, [&](const Message &message) {
    int64_t stage = StageOp(message.stage).getIndex();
    Volume &volume = message.to >= 0 ? transfers[{stage, message.to}]
                                     : collectives[{stage, message.getPhase().str(), message.kind, message.axis,
                                                    dtypeName(getElementTypeOrSelf(message.type))}];
    volume.count += message.times;
    volume.bytes += message.bytes;
  });
  Traffic traffic;
  for (auto &[key, volume] : collectives) {
    auto &[stage, phase, kind, axis, dtype] = key;
    traffic.collectives.push_back({kind, axis, phase, stage, dtype, volume.count, volume.bytes});
  }
  for (auto &[ends, volume] : transfers)
    traffic.transfers.push_back({ends.first, ends.second, volume.count, volume.bytes});
  return traffic;
}
