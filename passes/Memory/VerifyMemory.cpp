// A simulation of who owns each byte: a command's reads must find what was written for them, and must not be what it overwrites.
#include "passes/Memory/Passes.h"
#include "dialects/Graph/TensorBytes.h"
#include "passes/Memory/Views.h"

namespace p3d::memory {
#define GEN_PASS_DEF_VERIFYMEMORY
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;
using p3d::memory::rootOf;

namespace {
struct Range {
  int64_t begin, end;
  bool overlaps(Range other) const { return begin < other.end && other.begin < end; }
};

/// Whether a command adds to its write `number`, and so reads it; a product has a flag of its own for its sums.
bool addsTo(Operation &op, size_t number) {
  auto product = dyn_cast<exec::EinsumOp>(op);
  return product && number > 0 ? product.getAddsSums() : op.hasAttr("adds");
}

/// The commands of one task or function: its scratch, with temporaries at their offsets.
class ScratchSimulation {
public:
  ScratchSimulation(ModuleOp module, int64_t scratchBytes)
      : symbols(module), scratchBytes(scratchBytes) {}

  LogicalResult run(Block &commands) {
    for (Operation &op : commands) {
      auto command = dyn_cast<exec::Command>(op);
      if (!command)
        continue;
      for (Value memory : command.getReads())
        if (failed(read(command, memory)))
          return failure();
      for (auto [number, memory] : llvm::enumerate(command.getWrites()))
        if ((addsTo(op, number) && failed(read(command, memory))) || failed(write(command, memory)))
          return failure();
      if (auto call = dyn_cast<exec::CallOp>(op))
        if (failed(clobber(call)))
          return failure();
    }
    return success();
  }

private:
  std::optional<Range> rangeOf(Value root) {
    auto temporary = root.getDefiningOp<exec::TemporaryOp>();
    if (!temporary || !temporary.getOffset())
      return std::nullopt;
    int64_t begin = *temporary.getOffset();
    return Range{begin, begin + exec::bytesOf(cast<MemRefType>(root.getType()))};
  }

  LogicalResult read(exec::Command command, Value memory) {
    Value root = rootOf(memory);
    auto range = rangeOf(root);
    if (range && !alive.contains(root)) {
      auto error = command->emitOpError() << "reads a temporary at [" << range->begin << ", " << range->end
                                          << ") that is not alive";
      error.attachNote(root.getLoc()) << "the temporary; it was never written, or overwritten since";
      return failure();
    }
    return success();
  }

  LogicalResult write(exec::Command command, Value memory) {
    Value root = rootOf(memory);
    auto isClash = [&](Value other) {
      auto mine = rangeOf(root), theirs = rangeOf(rootOf(other));
      return rootOf(other) == root || (mine && theirs && mine->overlaps(*theirs));
    };
    bool isInPlace = isa<exec::AllReduceOp, exec::ReduceSharesOp, exec::GatherSharesOp>(command);
    bool reads = !isInPlace && llvm::any_of(command.getReads(), isClash);
    if (reads || llvm::count_if(command.getWrites(), isClash) > 1)
      return command->emitOpError() << "writes memory that it reads or writes as another operand";
    auto range = rangeOf(root);
    if (!range)
      return success();
    if (range->end > scratchBytes)
      return command->emitOpError() << "writes [" << range->begin << ", " << range->end << ") of a scratch of "
                                    << scratchBytes << " bytes";
    overwrite(*range, root);
    alive.insert(root);
    return success();
  }

  LogicalResult clobber(exec::CallOp call) {
    int64_t bytes = symbols.lookup<exec::FunctionOp>(call.getCallee()).getScratchBytes().value_or(0);
    Range range{static_cast<int64_t>(call.getScratch().value_or(0)), static_cast<int64_t>(call.getScratch().value_or(0)) + bytes};
    if (range.end > scratchBytes)
      return call.emitOpError() << "gives its callee [" << range.begin << ", " << range.end << ") of a scratch of "
                                << scratchBytes << " bytes";
    for (Value operand : call->getOperands())
      if (auto mine = rangeOf(rootOf(operand)); mine && bytes && mine->overlaps(range))
        return call.emitOpError() << "gives its callee a scratch that holds an operand";
    if (bytes)
      overwrite(range, Value());
    return success();
  }

  void overwrite(Range range, Value by) {
    SmallVector<Value> gone;
    for (Value root : alive)
      if (root != by && rangeOf(root)->overlaps(range))
        gone.push_back(root);
    for (Value root : gone)
      alive.erase(root);
  }

  SymbolTable symbols;
  int64_t scratchBytes;
  DenseSet<Value> alive;
};

/// The arena's bytes that a message over a row of buffers touches: from the first on a share for each rank. The others must stand at their starts.
LogicalResult verifyRow(exec::BufferOp buffer, exec::ProgramOp program, Range &range) {
  pipe::ShareAttr share = pipe::shareOf(buffer);
  auto mesh = program->getParentOfType<ModuleOp>()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  auto first = dyn_cast_or_null<exec::BufferOp>(SymbolTable::lookupSymbolIn(program, share.getRow()));
  if (!first || !first.getOffset() || !mesh)
    return buffer.emitOpError() << "stands in the row of " << share.getRow() << ", which has no place";
  int64_t bytes = graph::elementBytes(buffer.getMemory()), begin = *first.getOffset() + share.getStart() * bytes;
  if (begin != int64_t(*buffer.getOffset()))
    return buffer.emitOpError() << "lies at " << *buffer.getOffset() << ", expected " << begin << ", its place in the row of " << share.getRow();
  int64_t end = *first.getOffset() + share.getChunk() * mesh.getDp() * bytes;
  if (range.end > end)
    return buffer.emitOpError() << "ends at " << range.end << ", behind the shares of its row, which end at " << end;
  if (buffer == first)
    range.end = end;
  return success();
}

/// Buffers and the tasks' scratch must be apart and inside the arena.
LogicalResult verifyArena(exec::ProgramOp program) {
  SmallVector<std::pair<Range, Operation *>> ranges;
  int64_t arena = program.getArenaBytes().value_or(0);
  for (auto buffer : program.getOps<exec::BufferOp>()) {
    if (!buffer.getOffset())
      return buffer.emitOpError() << "has no place in the arena";
    int64_t copies = buffer.getStride() ? exec::slotsOf(program, buffer) : 1, bytes = exec::bytesOf(buffer.getMemory());
    for (int64_t slot = 0; slot < copies; ++slot) {
      int64_t begin = *buffer.getOffset() + slot * buffer.getStride().value_or(0);
      Range range{begin, begin + bytes};
      if (pipe::ShareAttr share = pipe::shareOf(buffer); share && !pipe::holdsShare(buffer)) {
        if (failed(verifyRow(buffer, program, range)))
          return failure();
        if (share.getRow().getAttr() != buffer.getSymNameAttr())
          continue; // inside the row
      }
      ranges.push_back({range, buffer});
    }
  }
  Range scratch{arena, arena};
  for (auto task : program.getOps<exec::TaskOp>()) {
    int64_t begin = task.getScratchOffset().value_or(0);
    scratch = {std::min(scratch.begin, begin), std::max<int64_t>(scratch.begin == arena ? 0 : scratch.end, begin + task.getScratchBytes().value_or(0))};
  }
  ranges.push_back({scratch, program});
  llvm::sort(ranges, [](auto &a, auto &b) { return a.first.begin < b.first.begin; });
  for (auto [a, b] : llvm::zip(ArrayRef(ranges).drop_back(), ArrayRef(ranges).drop_front()))
    if (a.first.overlaps(b.first)) {
      auto error = a.second->emitOpError() << "lies at [" << a.first.begin << ", " << a.first.end << ")";
      error.attachNote(b.second->getLoc()) << "and overlaps what lies at [" << b.first.begin << ", " << b.first.end << ")";
      return failure();
    }
  int64_t needed = 0;
  for (auto &[range, op] : ranges)
    needed = std::max(needed, range.end);
  if (needed > arena)
    return program.emitOpError() << "needs " << needed << " bytes of an arena of " << arena;
  return success();
}

struct VerifyMemory : memory::impl::VerifyMemoryBase<VerifyMemory> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<exec::FunctionOp>())
      if (failed(ScratchSimulation(module, function.getScratchBytes().value_or(0)).run(function.getBody().front())))
        return signalPassFailure();
    for (auto program : module.getOps<exec::ProgramOp>()) {
      if (failed(verifyArena(program)))
        return signalPassFailure();
      for (auto task : program.getOps<exec::TaskOp>())
        if (failed(ScratchSimulation(module, task.getScratchBytes().value_or(0)).run(task.getBody().front())))
          return signalPassFailure();
    }
  }
};
} // namespace
