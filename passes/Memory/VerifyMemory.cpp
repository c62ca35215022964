// A simulation of who owns each byte: a command's reads must find what was written for them, and must not be what it overwrites.
#include "passes/Memory/Passes.h"
#include "dialects/Graph/TensorBytes.h"
#include "passes/Memory/Views.h"
#include "llvm/ADT/MapVector.h"
#include <map>

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

/// What a slab holds must be apart and inside.
LogicalResult verifySlab(exec::SlabOp slab, SmallVector<exec::BufferOp> buffers) {
  llvm::stable_sort(buffers, [](exec::BufferOp a, exec::BufferOp b) { return *a.getOffset() < *b.getOffset(); });
  int64_t end = 0;
  exec::BufferOp last;
  for (exec::BufferOp buffer : buffers) {
    if (int64_t(*buffer.getOffset()) < end) {
      auto error = buffer.emitOpError() << "overlaps another activation of its slab";
      error.attachNote(last.getLoc()) << "the other activation";
      return failure();
    }
    end = int64_t(*buffer.getOffset()) + exec::bytesOf(buffer.getMemory());
    last = buffer;
  }
  if (end > int64_t(slab.getBytes()))
    return last.emitOpError() << "ends at " << end << " of a slab of " << slab.getBytes() << " bytes";
  return success();
}

/// Places that lie one over the other count as one: when each is used is for StepSimulation to see.
SmallVector<Range> placesOf(ArrayRef<exec::SlabOp> slabs) {
  SmallVector<Range> ranges, joined;
  for (exec::SlabOp slab : slabs)
    for (int64_t place : slab.getPlaces())
      if (slab.getBytes())
        ranges.push_back({place, place + int64_t(slab.getBytes())});
  llvm::sort(ranges, [](Range a, Range b) { return a.begin < b.begin; });
  for (Range range : ranges)
    if (!joined.empty() && range.begin < joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  return joined;
}

/// Buffers and the tasks' scratch must be apart and inside the arena.
LogicalResult verifyArena(exec::ProgramOp program) {
  SmallVector<std::pair<Range, Operation *>> ranges;
  int64_t arena = program.getArenaBytes().value_or(0);
  llvm::MapVector<exec::SlabOp, SmallVector<exec::BufferOp>> slabs;
  for (auto slab : program.getOps<exec::SlabOp>())
    slabs[slab];
  for (auto buffer : program.getOps<exec::BufferOp>()) {
    if (!buffer.getOffset())
      return buffer.emitOpError() << "has no place in the arena";
    if (auto name = buffer.getSlabAttr()) {
      auto slab = dyn_cast_or_null<exec::SlabOp>(SymbolTable::lookupSymbolIn(program, name));
      if (!slab)
        return buffer.emitOpError() << "is in " << name << ", which is no slab of its program";
      slabs[slab].push_back(buffer);
      continue;
    }
    int64_t begin = *buffer.getOffset();
    Range range{begin, begin + exec::bytesOf(buffer.getMemory())};
    if (pipe::ShareAttr share = pipe::shareOf(buffer); share && !pipe::holdsShare(buffer)) {
      if (failed(verifyRow(buffer, program, range)))
        return failure();
      if (share.getRow().getAttr() != buffer.getSymNameAttr())
        continue; // inside the row
    }
    ranges.push_back({range, buffer});
  }
  SmallVector<exec::SlabOp> all;
  for (auto &[slab, buffers] : slabs) {
    if (failed(verifySlab(slab, buffers)))
      return failure();
    all.push_back(slab);
  }
  for (Range range : placesOf(all))
    ranges.push_back({range, all.front()});
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

/// The activations of a step: each microbatch finds what an earlier task has left for it, and nothing that is still to be sent is overwritten.
class StepSimulation {
public:
  explicit StepSimulation(exec::ProgramOp program) : program(program), symbols(program) {
    for (auto task : program.getOps<exec::TaskOp>())
      accesses[task] = accessesOf(task);
  }

  /// A step, and of the next one the beginning, in which what was sent late in the first may still leave.
  LogicalResult run() {
    SmallVector<exec::Step> steps = exec::stepsOf(program);
    for (exec::Step step : steps)
      if (failed(run(step)))
        return failure();
    DenseSet<int64_t> late;
    for (auto &[slot, sent] : unsent)
      late.insert(slot);
    for (exec::Step step : steps) {
      if (late.empty())
        break;
      if (failed(run(step)))
        return failure();
      if (step.task.getKind() == pipe::TaskKind::Forward)
        late.erase(slotOf(step));
    }
    return success();
  }

private:
  enum class Kind { Read, Write, Send };
  /// What a command does with an activation.
  struct Access {
    exec::BufferOp buffer;
    exec::SlabOp slab;
    Kind kind;
  };
  /// A buffer for a microbatch.
  using Instance = std::pair<Operation *, int64_t>;
  struct Span {
    int64_t end;
    Instance owner;
  };

  /// Of reads of one buffer that follow each other the last one is enough.
  SmallVector<Access> accessesOf(exec::TaskOp task) {
    SmallVector<Access> all, needed;
    for (Operation &op : task.getBody().front())
      if (auto command = dyn_cast<exec::Command>(op))
        note(command, all);
    DenseMap<Operation *, Kind> next;
    for (const Access &access : llvm::reverse(all)) {
      auto [entry, isLast] = next.try_emplace(access.buffer, access.kind);
      if (isLast || access.kind != Kind::Read || entry->second != Kind::Read)
        needed.push_back(access);
      entry->second = access.kind;
    }
    std::reverse(needed.begin(), needed.end());
    return needed;
  }

  void note(exec::Command command, SmallVectorImpl<Access> &list) {
    auto add = [&](Value memory, Kind kind) {
      auto address = rootOf(memory).getDefiningOp<exec::AddressOp>();
      auto buffer = address ? symbols.lookup<exec::BufferOp>(address.getBuffer()) : exec::BufferOp();
      if (buffer && buffer.getSlab())
        list.push_back({buffer, symbols.lookup<exec::SlabOp>(*buffer.getSlab()), kind});
    };
    for (Value memory : command.getReads())
      add(memory, isa<exec::SendOp>(command.getOperation()) ? Kind::Send : Kind::Read);
    for (auto [number, memory] : llvm::enumerate(command.getWrites())) {
      if (addsTo(*command.getOperation(), number))
        add(memory, Kind::Read);
      add(memory, Kind::Write);
    }
  }

  int64_t slotOf(exec::Step step) { return exec::slotOf(program, {step.task.getKind(), step.microbatch, int64_t(step.task.getChunk())}); }

  LogicalResult run(exec::Step step) {
    int64_t slot = slotOf(step);
    if (step.task.getKind() == pipe::TaskKind::Forward) // the runtime waits for what was sent from the slot
      unsent.erase(slot);
    for (auto [buffer, slab, kind] : accesses[step.task]) {
      Instance mine{buffer, step.microbatch};
      if (kind != Kind::Write && !full.contains(mine))
        return complain(step) << "reads '" << buffer.getSymName() << "', which holds nothing for it; it was never written, or overwritten since";
      if (kind == Kind::Write && failed(write(buffer, slab, step)))
        return failure();
      if (kind == Kind::Send)
        unsent[slot].insert(mine);
    }
    return success();
  }

  bool isUnsent(Instance instance) {
    return llvm::any_of(unsent, [&](auto &sent) { return sent.second.contains(instance); });
  }

  /// Makes the buffer's bytes those of the microbatch.
  LogicalResult write(exec::BufferOp buffer, exec::SlabOp slab, exec::Step step) {
    const Instance mine{buffer, step.microbatch};
    if (isUnsent(mine))
      return complain(step) << "writes '" << buffer.getSymName() << "', which it may still have to send";
    if (!full.insert(mine).second)
      return success();
    int64_t begin = slab.placeOf(step.microbatch) + int64_t(*buffer.getOffset()), end = begin + exec::bytesOf(buffer.getMemory());
    cut(begin);
    cut(end);
    auto first = spans.lower_bound(begin), last = spans.lower_bound(end);
    for (auto span = first; span != last; ++span) {
      Instance gone = span->second.owner;
      if (gone != mine && full.erase(gone) && isUnsent(gone)) // mine: what was left of it in the step before
        return complain(step) << "overwrites '" << cast<exec::BufferOp>(gone.first).getSymName() << "' of microbatch " << gone.second << ", which may still have to be sent";
    }
    spans.erase(first, last);
    spans[begin] = {end, mine};
    return success();
  }

  void cut(int64_t at) {
    auto span = spans.lower_bound(at);
    if (span == spans.begin() || (--span)->second.end <= at)
      return;
    Span behind = span->second;
    span->second.end = at;
    spans[at] = behind;
  }

  InFlightDiagnostic complain(exec::Step step) {
    InFlightDiagnostic error = step.task.emitOpError();
    error << "of microbatch " << step.microbatch << " ";
    return error;
  }

  exec::ProgramOp program;
  SymbolTable symbols;
  DenseMap<Operation *, SmallVector<Access>> accesses; ///< of each task
  std::map<int64_t, Span> spans;                        ///< of the arena, by their first bytes
  DenseSet<Instance> full;                              ///< buffers that hold a value
  std::map<int64_t, DenseSet<Instance>> unsent;         ///< by slot among those of all chunks
};

struct VerifyMemory : memory::impl::VerifyMemoryBase<VerifyMemory> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<exec::FunctionOp>())
      if (failed(ScratchSimulation(module, function.getScratchBytes().value_or(0)).run(function.getBody().front())))
        return signalPassFailure();
    for (auto program : module.getOps<exec::ProgramOp>()) {
      if (failed(verifyArena(program)) || failed(StepSimulation(program).run()))
        return signalPassFailure();
      for (auto task : program.getOps<exec::TaskOp>())
        if (failed(ScratchSimulation(module, task.getScratchBytes().value_or(0)).run(task.getBody().front())))
          return signalPassFailure();
    }
  }
};
} // namespace
