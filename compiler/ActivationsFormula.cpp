#include "compiler/ActivationsFormula.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/TensorBytes.h"
#include "dialects/Pipe/PipeOps.h"
#include "passes/Schedule/StageSchedule.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// Whether a forward task gets `value` from a block or from another stage, and not from parameters, inputs and the prologue alone.
bool isActivation(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa<CallOp, pipe::RecvOp>(op))
    return true;
  if (auto read = dyn_cast<pipe::ReadOp>(op))
    return SymbolTable::lookupNearestSymbolFrom<pipe::BufferOp>(read, read.getBufferAttr()).getKind() == pipe::BufferKind::Activation;
  return llvm::any_of(op->getOperands(), isActivation);
}

/// The activations that one call of a forward block keeps.
class BlockActivations {
public:
  /// Blocks that are no layers compute no more again than selective does.
  BlockActivations(CallOp call, BlockOp block, StringRef recompute)
      : call(call), recompute(recompute == "full" && !call.getLayer() ? "selective" : recompute) {
    for (auto [operand, argument] : llvm::zip(call.getInputs(), block.getBody().getArguments()))
      if (isActivation(operand))
        active.insert(argument);
    for (Operation &op : block.getBody().front().without_terminator())
      visit(op);
  }

  /// Of `call`'s block: arguments are values of the task.
  void addTo(llvm::SetVector<Value> &ofTasks, int64_t &madeBytes) {
    for (Value value : kept)
      if (auto argument = dyn_cast<BlockArgument>(value))
        ofTasks.insert(call.getInputs()[argument.getArgNumber()]);
      else
        madeBytes += bytesOf(tensorType(value));
  }

private:
  void visit(Operation &op) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      return;
    active.insert(op.result_begin(), op.result_end());
    if (isa<EinsumOp, LayerNormOp, RmsNormOp, AttentionOp, GeluOp, SiluOp, SwigluOp>(op))
      for (Value operand : op.getOperands())
        keep(operand);
    if (isa<CrossEntropySumOp, SoftmaxCrossEntropyOp>(op))
      keep(op.getOperand(0));
    // Their gradients read what they made.
    if (isa<AttentionOp, SoftmaxOp>(op))
      keep(op.getResult(0));
  }

  void keep(Value value) {
    Operation *op = value.getDefiningOp();
    if (!active.contains(value) || !visited.insert(value).second)
      return;
    if (!op) {
      kept.insert(value);
      return;
    }
    bool isView = isa<ReshapeOp, TransposeOp, BroadcastOp, ConvertOp, dist::AllGatherOp>(op);
    bool isComputedAgain = isa<LayerNormOp, RmsNormOp, AttentionOp, SoftmaxOp, RopeOp, GeluOp, SiluOp, SwigluOp>(op);
    if (isView || recompute == "full" || (recompute == "selective" && isComputedAgain)) {
      for (Value operand : op->getOperands())
        keep(operand);
      return;
    }
    kept.insert(value);
  }

  CallOp call;
  StringRef recompute;
  DenseSet<Value> active, visited;
  llvm::SetVector<Value> kept;
};
} // namespace

std::vector<int64_t> p3d::countActivations(ModuleOp scheduled, StringRef recompute) {
  std::vector<int64_t> counts;
  for (pipe::StageOp stage : collectStages(scheduled)) {
    int64_t bytes = 0;
    llvm::SetVector<Value> ofTasks;
    for (pipe::TaskOp forward : stage.getOps<pipe::TaskOp>())
      if (forward.getKind() == pipe::TaskKind::Forward)
        for (auto call : forward.getBody().getOps<CallOp>())
          BlockActivations(call, call.lookupBlock(), recompute).addTo(ofTasks, bytes);
    for (Value value : ofTasks)
      bytes += bytesOf(tensorType(value));
    counts.push_back(bytes * countLive(readOrder(stage)) / stage.getNumChunks());
  }
  return counts;
}
