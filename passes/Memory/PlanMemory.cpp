// Places: temporaries by the packing of their lives, buffers one after the other.
#include "passes/Memory/IntervalPacking.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/Views.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace p3d::memory {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// Of scratch memory for matrix products.
constexpr int64_t kWorkspaceAlignment = 256;

int64_t alignUp(int64_t bytes) { return llvm::alignTo(bytes, exec::kAlignment); }

/// Plans functions, callees first, and tasks.
class ScratchPlanner {
public:
  explicit ScratchPlanner(ModuleOp module) : symbols(module) {}

  /// The bytes of scratch that `function` needs.
  int64_t plan(exec::FunctionOp function) {
    if (auto known = function.getScratchBytes())
      return *known;
    int64_t bytes = plan(function.getBody().front());
    function.setScratchBytes(bytes);
    return bytes;
  }

  int64_t plan(Block &commands) {
    llvm::MapVector<Operation *, LiveInterval> lives; // of temporaries and of calls' scratch
    for (auto [time, op] : llvm::enumerate(commands)) {
      if (auto call = dyn_cast<exec::CallOp>(op))
        lives[&op] = {plan(symbols.lookup<exec::FunctionOp>(call.getCallee())), int64_t(time), int64_t(time)};
      if (!isa<exec::Command>(op))
        continue;
      for (Value operand : op.getOperands())
        if (auto temporary = rootOf(operand).getDefiningOp<exec::TemporaryOp>()) {
          int64_t bytes = exec::bytesOf(cast<MemRefType>(temporary.getType()));
          auto &life = lives.try_emplace(temporary, LiveInterval{bytes, int64_t(time), int64_t(time)}).first->second;
          life.last = time;
        }
    }
    return assign(commands, lives);
  }

private:
  int64_t assign(Block &commands, llvm::MapVector<Operation *, LiveInterval> &lives) {
    SmallVector<LiveInterval> intervals;
    for (auto &[op, life] : lives)
      intervals.push_back(life);
    Packing packing = packIntervals(intervals, exec::kAlignment);
    for (auto [entry, offset] : llvm::zip(lives, packing.offsets)) {
      if (auto call = dyn_cast<exec::CallOp>(entry.first))
        call.setScratch(offset);
      else
        cast<exec::TemporaryOp>(entry.first).setOffset(offset);
    }
    for (auto temporary : llvm::make_early_inc_range(commands.getOps<exec::TemporaryOp>()))
      if (!temporary.getOffset()) // no command touches it
        temporary.setOffset(0);
    return packing.bytes;
  }

  SymbolTable symbols;
};

/// Lays out the arena of one program: parameters with their optimizer state, inputs, complete values, accumulators, activations, scratch.
class ArenaPlanner {
public:
  explicit ArenaPlanner(exec::ProgramOp program) : program(program) {}

  /// The workspace, which nothing else uses, is the last of the arena.
  void plan(int64_t scratchBytes, int64_t workspaceBytes) {
    addOptimizerState();
    for (pipe::BufferKind kind : {pipe::BufferKind::Parameter, pipe::BufferKind::Input, pipe::BufferKind::Complete, pipe::BufferKind::Receive})
      placeAll(kind);
    int64_t zero = end;
    for (exec::BufferOp buffer : accumulators())
      place(buffer);
    program.setZeroOffset(zero);
    program.setZeroBytes(end - zero);
    placeActivations();
    for (auto task : program.getOps<exec::TaskOp>()) {
      task.setScratchOffset(end);
    }
    end = alignUp(end + scratchBytes);
    program.setArenaBytes(workspaceBytes > 0 ? llvm::alignTo(end, kWorkspaceAlignment) + workspaceBytes : end);
  }

private:
  void place(exec::BufferOp buffer) {
    buffer.setOffset(end);
    end = alignUp(end + exec::bytesOf(buffer.getMemory()));
  }

  void placeAll(pipe::BufferKind kind) {
    for (auto buffer : program.getOps<exec::BufferOp>())
      if (buffer.getKind() == kind)
        place(buffer);
  }

  /// Gradients and results; those that are reduced in one message stand together.
  SetVector<exec::BufferOp> accumulators() {
    SetVector<exec::BufferOp> ordered;
    auto add = [&](exec::BufferOp buffer) {
      if (buffer.getKind() == pipe::BufferKind::Gradient || buffer.getKind() == pipe::BufferKind::Result)
        ordered.insert(buffer);
    };
    program.walk([&](exec::AllReduceOp reduce) {
      for (Value memory : reduce.getOuts())
        if (auto address = rootOf(memory).getDefiningOp<exec::AddressOp>())
          add(cast<exec::BufferOp>(SymbolTable::lookupSymbolIn(program, address.getBuffer())));
    });
    for (auto buffer : program.getOps<exec::BufferOp>())
      add(buffer);
    return ordered;
  }

  void placeActivations() {
    int64_t stride = 0;
    for (auto buffer : program.getOps<exec::BufferOp>())
      if (buffer.getKind() == pipe::BufferKind::Activation) {
        buffer.setOffset(end + stride);
        stride = alignUp(stride + exec::bytesOf(buffer.getMemory()));
      }
    for (auto buffer : program.getOps<exec::BufferOp>())
      if (buffer.getKind() == pipe::BufferKind::Activation)
        buffer.setStride(stride);
    end += stride * program.getSlots();
  }

  /// Moments of the optimizer, and an f32 master of a parameter of 16 bits.
  void addOptimizerState() {
    program.walk([&](exec::UpdateOp update) {
      auto parameter = cast<exec::BufferOp>(SymbolTable::lookupSymbolIn(program, update.getParameterAttr()));
      SmallVector<StringRef> parts{"m"};
      if (update.getOptimizer() == "adamw")
        parts.push_back("v");
      if (parameter.getMemory().getElementTypeBitWidth() == 16)
        parts.push_back("master");
      OpBuilder builder(parameter->getContext());
      builder.setInsertionPointAfter(parameter);
      auto type = parameter.getMemory().clone(builder.getF32Type());
      for (StringRef part : llvm::reverse(parts)) {
        builder.setInsertionPointAfter(parameter);
        auto state = builder.create<exec::BufferOp>(
            parameter.getLoc(), builder.getStringAttr(part + "." + parameter.getSymName()), parameter.getKindAttr(),
            TypeAttr::get(type), TypeAttr::get(builder.getF32Type()), TypeAttr(), IntegerAttr(), IntegerAttr());
        state->setAttr(exec::kStateOfAttr, FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
        state->setAttr(exec::kStateAttr, builder.getStringAttr(part));
      }
    });
  }

  exec::ProgramOp program;
  int64_t end = 0;
};

struct PlanMemory : memory::impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    if (workspaceBytes > 0)
      getOperation()->setAttr(exec::kWorkspaceAttr, Builder(&getContext()).getI64IntegerAttr(workspaceBytes));
    ScratchPlanner scratch(getOperation());
    for (auto function : getOperation().getOps<exec::FunctionOp>())
      scratch.plan(function);
    for (auto program : getOperation().getOps<exec::ProgramOp>()) {
      int64_t most = 0;
      for (auto task : program.getOps<exec::TaskOp>()) {
        task.setScratchBytes(scratch.plan(task.getBody().front()));
        most = std::max<int64_t>(most, *task.getScratchBytes());
      }
      ArenaPlanner(program).plan(most, workspaceBytes);
    }
  }
};
} // namespace
