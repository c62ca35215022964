// Goes through a step in the order of its actions: each microbatch has activations of its own, from the first command that touches them to the last.
#include "passes/Memory/StepLives.h"
#include "passes/Memory/Views.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// A buffer, and the microbatch where it has a memory for each.
using Instance = std::pair<Operation *, int64_t>;
using Uses = llvm::MapVector<exec::BufferOp, LiveInterval>;

/// When the commands of `task` touch what does not live for the whole step.
Uses usesIn(exec::TaskOp task, const SymbolTable &buffers) {
  Uses uses;
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

SmallVector<exec::Action> actionsOf(exec::ProgramOp program) {
  SmallVector<exec::Action> actions;
  if (auto order = program.getOrder()) {
    for (Attribute entry : *order)
      if (auto action = exec::parseAction(program, cast<StringAttr>(entry).getValue()))
        actions.push_back(*action);
  } else {
    for (auto task : program.getOps<exec::TaskOp>())
      actions.push_back({task.getKind(), 0, int64_t(task.getChunk())});
  }
  return actions;
}
} // namespace

bool p3d::memory::isHeldForAWhile(exec::BufferOp buffer) {
  return buffer.getKind() == pipe::BufferKind::Activation || buffer.getKind() == pipe::BufferKind::Complete;
}

int64_t p3d::memory::mostAliveInStep(exec::ProgramOp program, const DenseMap<Operation *, SmallVector<LiveInterval>> &temporariesOf) {
  const SymbolTable buffers(program);
  std::map<std::pair<pipe::TaskKind, int64_t>, std::pair<exec::TaskOp, Uses>> tasks;
  for (auto task : program.getOps<exec::TaskOp>())
    tasks[{task.getKind(), task.getChunk()}] = {task, usesIn(task, buffers)};

  SmallVector<LiveInterval> alive;
  llvm::MapVector<Instance, LiveInterval> held;
  int64_t start = 0;
  for (exec::Action action : actionsOf(program)) {
    auto found = tasks.find({action.kind, action.chunk});
    if (found == tasks.end())
      continue;
    auto &[task, uses] = found->second;
    for (auto [buffer, use] : uses) {
      int64_t microbatch = buffer.getKind() == pipe::BufferKind::Activation ? action.microbatch : 0;
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
