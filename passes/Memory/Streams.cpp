#include "passes/Memory/Streams.h"
#include "passes/Memory/Views.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
std::optional<Place> placeOf(Value memory) {
  memory = rootOf(memory);
  int64_t bytes = exec::bytesOf(cast<MemRefType>(memory.getType()));
  Operation *def = memory.getDefiningOp();
  if (!def)
    return Place{memory.getAsOpaquePointer(), 0, bytes};
  if (auto temporary = dyn_cast<exec::TemporaryOp>(def)) {
    int64_t begin = temporary.getOffset().value_or(0);
    return Place{nullptr, begin, begin + bytes};
  }
  if (auto address = dyn_cast<exec::AddressOp>(def))
    return Place{const_cast<void *>(address.getBufferAttr().getAttr().getAsOpaquePointer()), 0, bytes};
  return std::nullopt;
}

exec::Stream streamOf(exec::Group group) {
  switch (group) {
  case exec::Group::TP:
  case exec::Group::TPMajor:
  case exec::Group::TPMinor:
    return exec::Stream::TP;
  case exec::Group::DP:
    return exec::Stream::DP;
  case exec::Group::Tied:
    return exec::Stream::Tied;
  case exec::Group::Norm:
    return exec::Stream::Norm;
  case exec::Group::PP:
    return exec::Stream::Forward;
  }
  llvm_unreachable("a group outside the enumeration");
}
} // namespace

bool p3d::memory::isConflict(const Access &a, const Access &b) {
  return (a.writes || b.writes) && a.place.root == b.place.root && a.place.begin < b.place.end && b.place.begin < a.place.end;
}

SharedPlaces::SharedPlaces(exec::ProgramOp program) : symbols(program) {
  for (exec::Step step : exec::stepsOf(program))
    microbatches = std::max(microbatches, step.microbatch + 1);
}

exec::BufferOp SharedPlaces::activation(void *root) {
  auto buffer = root ? symbols.lookup<exec::BufferOp>(StringAttr::getFromOpaquePointer(root)) : exec::BufferOp();
  return buffer && buffer.getSlab() ? buffer : exec::BufferOp();
}

bool SharedPlaces::share(void *a, void *b) {
  exec::BufferOp first = a == b ? exec::BufferOp() : activation(a), second = first ? activation(b) : exec::BufferOp();
  if (!second || first.getSlab() == second.getSlab())
    return false;
  auto [entry, isNew] = known.try_emplace({a, b}, false);
  if (!isNew)
    return entry->second;
  auto slab = symbols.lookup<exec::SlabOp>(*first.getSlab()), other = symbols.lookup<exec::SlabOp>(*second.getSlab());
  for (int64_t microbatch = 0; microbatch < microbatches; ++microbatch) {
    int64_t begin = slab.placeOf(microbatch) + int64_t(*first.getOffset()), begins = other.placeOf(microbatch) + int64_t(*second.getOffset());
    entry->second |= begin < begins + exec::bytesOf(second.getMemory()) && begins < begin + exec::bytesOf(first.getMemory());
  }
  return entry->second;
}

exec::Stream p3d::memory::streamOf(exec::Command command, int64_t stage) {
  Operation *op = command;
  if (isa<exec::SendOp, exec::RecvOp>(op)) {
    bool isForward = op->getParentOfType<exec::TaskOp>().getKind() == pipe::TaskKind::Forward;
    if (exec::isTurned(op))
      return isForward ? exec::Stream::TurnedForward : exec::Stream::TurnedBackward;
    return isForward ? exec::Stream::Forward : exec::Stream::Backward;
  }
  if (auto reduce = dyn_cast<exec::AllReduceOp>(op))
    return ::streamOf(reduce.getGroup());
  if (isa<exec::ReduceSharesOp, exec::GatherSharesOp>(op))
    return exec::Stream::DP;
  if (auto gather = dyn_cast<exec::AllGatherOp>(op))
    return ::streamOf(gather.getGroup());
  if (auto scatter = dyn_cast<exec::ReduceScatterOp>(op))
    return ::streamOf(scatter.getGroup());
  if (auto exchange = dyn_cast<exec::AllToAllOp>(op))
    return ::streamOf(exchange.getGroup());
  return exec::Stream::Compute;
}

SmallVector<Access> p3d::memory::accessesOf(exec::Command command, const SymbolTable &symbols) {
  SmallVector<Access> accesses;
  auto add = [&](ValueRange memories, bool writes) {
    for (Value memory : memories)
      if (std::optional<Place> place = placeOf(memory))
        accesses.push_back({*place, writes});
  };
  add(command.getReads(), false);
  add(command.getWrites(), true);
  if (auto call = dyn_cast<exec::CallOp>(command.getOperation())) {
    auto callee = symbols.lookup<exec::FunctionOp>(call.getCallee());
    int64_t begin = call.getScratch().value_or(0);
    accesses.push_back({{nullptr, begin, begin + int64_t(callee.getScratchBytes().value_or(0))}, true});
  }
  return accesses;
}

bool p3d::memory::isOrderedByRuntime(exec::Command command) { return isa<exec::SendOp>(command.getOperation()); }
