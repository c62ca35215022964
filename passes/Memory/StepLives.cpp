// Goes through a step in the order of its actions: each microbatch has activations of its own, from the first command that touches them to the last.
#include "passes/Memory/StepLives.h"
#include "passes/Memory/Views.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// A buffer, and the microbatch where it has a memory for each.
using Instance = std::pair<Operation *, int64_t>;

/// Whether a buffer is empty for a part of the step.
bool isHeldForAWhile(exec::BufferOp buffer) {
  return buffer.getKind() == pipe::BufferKind::Activation || buffer.getKind() == pipe::BufferKind::Complete;
}
} // namespace

BufferUses p3d::memory::usesIn(exec::TaskOp task, const SymbolTable &buffers) {
  BufferUses uses;
  for (auto [time, op] : llvm::enumerate(task.getBody().front())) {
    if (!isa<exec::Command>(op))
      continue;
    for (Value operand : op.getOperands()) {
      auto address = rootOf(operand).getDefiningOp<exec::AddressOp>();
      auto buffer = address ? buffers.lookup<exec::BufferOp>(address.getBuffer()) : exec::BufferOp();
      if (!buffer || !isHeldForAWhile(buffer))
        continue;
      int64_t bytes = llvm::alignTo(exec::bytesOf(buffer.getMemory()), exec::kAlignment);
      uses.try_emplace(buffer, LiveInterval{bytes, int64_t(time), 0}).first->second.last = time;
    }
  }
  return uses;
}

int64_t p3d::memory::mostAliveInStep(exec::ProgramOp program, const DenseMap<Operation *, SmallVector<LiveInterval>> &temporariesOf) {
  const SymbolTable buffers(program);
  DenseMap<Operation *, BufferUses> usesOf;
  for (auto task : program.getOps<exec::TaskOp>())
    usesOf[task] = usesIn(task, buffers);

  SmallVector<LiveInterval> alive;
  llvm::MapVector<Instance, LiveInterval> held;
  int64_t start = 0;
  for (auto [task, ofAction] : exec::stepsOf(program)) {
    for (auto [buffer, use] : usesOf[task]) {
      int64_t microbatch = buffer.getKind() == pipe::BufferKind::Activation ? ofAction : 0;
      held.try_emplace({buffer, microbatch}, LiveInterval{use.bytes, start + use.first, 0}).first->second.last = start + use.last;
    }
    for (auto [bytes, first, last] : temporariesOf.lookup(task))
      alive.push_back({bytes, start + first, start + last});
    start += task.getBody().front().getOperations().size();
  }
  for (auto &[instance, life] : held)
    alive.push_back(life);
  return mostAlive(alive);
}
