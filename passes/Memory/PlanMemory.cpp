// Places: temporaries by the packing of their lives, buffers one after the other.
#include "passes/Memory/IntervalPacking.h"
#include "dialects/Graph/TensorBytes.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/CollectiveScratch.h"
#include "passes/Memory/Slabs.h"
#include "passes/Memory/StepLives.h"
#include "passes/Memory/Streams.h"
#include "passes/Memory/Views.h"
#include "runtime/include/p3d/runtime.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <array>

namespace p3d::memory {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
int64_t alignUp(int64_t bytes) { return llvm::alignTo(bytes, exec::kAlignment); }
int64_t alignPiece(int64_t bytes) { return llvm::alignTo(bytes, P3D_DEVICE_PIECE); }

/// Plans functions, callees first, and tasks.
class ScratchPlanner {
public:
  explicit ScratchPlanner(ModuleOp module) : symbols(module) {}

  /// Bytes of scratch, and what is alive in it, by the numbers of the commands.
  struct Scratch {
    int64_t bytes;
    SmallVector<LiveInterval> alive;
  };

  Scratch plan(exec::FunctionOp function) {
    auto [known, isNew] = planned.try_emplace(function);
    if (isNew) {
      Scratch scratch = plan(function.getBody().front());
      function.setScratchBytes(scratch.bytes);
      planned[function] = scratch;
      return scratch;
    }
    return known->second;
  }

  Scratch plan(Block &commands) {
    llvm::MapVector<Operation *, LiveInterval> lives; // of temporaries and of calls' scratch
    SmallVector<LiveInterval> alive;                  // calls with what is alive in them alone
    for (auto [time, op] : llvm::enumerate(commands)) {
      if (auto call = dyn_cast<exec::CallOp>(op)) {
        Scratch callee = plan(symbols.lookup<exec::FunctionOp>(call.getCallee()));
        lives[&op] = {callee.bytes, int64_t(time), int64_t(time)};
        alive.push_back({mostAlive(callee.alive), int64_t(time), int64_t(time)});
      }
      if (!isa<exec::Command>(op))
        continue;
      for (Value operand : op.getOperands())
        if (auto temporary = rootOf(operand).getDefiningOp<exec::TemporaryOp>()) {
          int64_t bytes = exec::bytesOf(cast<MemRefType>(temporary.getType()));
          auto &life = lives.try_emplace(temporary, LiveInterval{bytes, int64_t(time), int64_t(time)}).first->second;
          life.last = time;
        }
    }
    for (auto &[op, life] : lives)
      if (!isa<exec::CallOp>(op))
        alive.push_back(life);
    return {assign(commands, lives), std::move(alive)};
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
  DenseMap<Operation *, Scratch> planned;
};

/// Lays out the arena of one program: parameters with their optimizer state, inputs, complete values, accumulators, activations, scratch.
class ArenaPlanner {
public:
  explicit ArenaPlanner(exec::ProgramOp program) : program(program) {}

  /// Of all places that activations have, once they are planned.
  int64_t getActivationBytes() const { return activationBytes; }

  /// On a device, pieces of the runtime and the workspace, which nothing else uses, are the last of the arena.
  void plan(int64_t scratchBytes, int64_t workspaceBytes) {
    addOptimizerState();
    for (pipe::BufferKind kind : {pipe::BufferKind::Parameter, pipe::BufferKind::Input, pipe::BufferKind::Complete, pipe::BufferKind::Receive})
      placeAll(kind);
    int64_t zero = end;
    for (exec::BufferOp buffer : accumulators())
      place(buffer);
    program.setZeroOffset(zero);
    program.setZeroBytes(end - zero);
    activationBytes = -end;
    end = placeActivations(program, end);
    activationBytes += end;
    for (auto task : program.getOps<exec::TaskOp>()) {
      task.setScratchOffset(end);
    }
    end = alignUp(end + scratchBytes);
    if (workspaceBytes > 0) {
      int64_t runtimeBytes = countRuntimeBytes();
      program->setAttr(exec::kRuntimeBytesAttr, Builder(program.getContext()).getI64IntegerAttr(runtimeBytes));
      std::array<int64_t, 2> streamScratch = countStreamScratch();
      program->setAttr(exec::kStreamScratchAttr, DenseI64ArrayAttr::get(program.getContext(), streamScratch));
      end = alignPiece(end) + streamScratch[0] + streamScratch[1] + runtimeBytes + workspaceBytes;
    }
    program.setArenaBytes(end);
  }

private:
  /// What stands in a row with others is placed with them.
  void place(exec::BufferOp buffer) {
    pipe::ShareAttr share = pipe::shareOf(buffer);
    if (share && !pipe::holdsShare(buffer))
      return placeRow(share);
    buffer.setOffset(end);
    end = alignUp(end + exec::bytesOf(buffer.getMemory()));
  }

  void placeRow(pipe::ShareAttr row) {
    int64_t bytes = 0;
    for (auto buffer : program.getOps<exec::BufferOp>()) {
      pipe::ShareAttr share = pipe::shareOf(buffer);
      if (!share || share.getRow() != row.getRow())
        continue;
      if (buffer.getOffset())
        return;
      bytes = graph::elementBytes(buffer.getMemory());
      buffer.setOffset(end + share.getStart() * bytes);
    }
    auto mesh = program->getParentOfType<ModuleOp>()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    end = alignUp(end + row.getChunk() * mesh.getDp() * bytes);
  }

  void placeAll(pipe::BufferKind kind) {
    for (auto buffer : program.getOps<exec::BufferOp>())
      if (buffer.getKind() == kind)
        place(buffer);
  }

  /// Calls `visit` with what the program and all that it calls are made of.
  void forEachCommand(llvm::function_ref<void(Operation &)> visit) {
    SymbolTable functions(program->getParentOfType<ModuleOp>());
    SetVector<Operation *> bodies;
    bodies.insert(program);
    for (size_t i = 0; i < bodies.size(); ++i)
      bodies[i]->walk([&](Operation *op) {
        visit(*op);
        if (auto call = dyn_cast<exec::CallOp>(op))
          bodies.insert(functions.lookup(call.getCallee()));
      });
  }

  /// See P3D_DEVICE_PIECE.
  int64_t countRuntimeBytes() {
    int64_t bytes = 2 * P3D_DEVICE_PIECE;
    auto gradients = llvm::count_if(program.getOps<exec::BufferOp>(), [](exec::BufferOp buffer) { return buffer.getKind() == pipe::BufferKind::Gradient; });
    bytes += 2 * alignPiece(gradients * P3D_DEVICE_ENTRY);
    forEachCommand([&](Operation &op) {
      if (auto constant = dyn_cast<exec::ConstantOp>(op))
        bytes += alignPiece(exec::bytesOf(cast<MemRefType>(constant.getType())));
    });
    return bytes;
  }

  /// What the collectives of a stream take at most, for tp and dp.
  std::array<int64_t, 2> countStreamScratch() {
    auto mesh = program->getParentOfType<ModuleOp>()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    std::array<int64_t, 2> most{};
    forEachCommand([&](Operation &op) {
      if (int64_t bytes = collectiveScratch(&op, mesh)) {
        int64_t &stream = most[streamOf(cast<exec::Command>(op), program.getIndex()) == exec::Stream::TP ? 0 : 1];
        stream = std::max(stream, alignPiece(bytes));
      }
    });
    return most;
  }

  /// Gradients and results; those that are reduced in one message stand together.
  SetVector<exec::BufferOp> accumulators() {
    SetVector<exec::BufferOp> ordered;
    auto add = [&](exec::BufferOp buffer) {
      if (buffer.getKind() == pipe::BufferKind::Gradient || buffer.getKind() == pipe::BufferKind::Result)
        ordered.insert(buffer);
    };
    SymbolTable buffers(program);
    program.walk([&](exec::AllReduceOp reduce) {
      for (Value memory : reduce.getOuts())
        if (auto address = rootOf(memory).getDefiningOp<exec::AddressOp>())
          add(buffers.lookup<exec::BufferOp>(address.getBuffer()));
    });
    for (auto buffer : program.getOps<exec::BufferOp>())
      add(buffer);
    return ordered;
  }

  /// Moments of the optimizer, and an f32 master of a parameter of 16 bits. Of a row of parameters each rank has those of its share.
  void addOptimizerState() {
    const SymbolTable buffers(program);
    program.walk([&](exec::UpdateOp update) {
      auto parameter = buffers.lookup<exec::BufferOp>(update.getParameter());
      pipe::ShareAttr share = pipe::shareOf(parameter);
      if (share && share.getRow() != update.getParameterAttr())
        return;
      SmallVector<StringRef> parts{"m"};
      if (update.getOptimizer() == "adamw")
        parts.push_back("v");
      if (parameter.getMemory().getElementTypeBitWidth() == 16)
        parts.push_back("master");
      OpBuilder builder(parameter->getContext());
      builder.setInsertionPointAfter(parameter);
      auto shape = share ? SmallVector<int64_t>{share.getChunk()} : SmallVector<int64_t>(parameter.getMemory().getShape());
      auto type = MemRefType::get(shape, builder.getF32Type());
      for (StringRef part : llvm::reverse(parts)) {
        builder.setInsertionPointAfter(parameter);
        auto state = builder.create<exec::BufferOp>(
            parameter.getLoc(), builder.getStringAttr(part + "." + parameter.getSymName()), parameter.getKindAttr(),
            TypeAttr::get(type), TypeAttr::get(builder.getF32Type()), TypeAttr(), FlatSymbolRefAttr(), IntegerAttr());
        state->setAttr(exec::kStateOfAttr, FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
        state->setAttr(exec::kStateAttr, builder.getStringAttr(part));
      }
    });
  }

  exec::ProgramOp program;
  int64_t end = 0, activationBytes = 0;
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
      DenseMap<Operation *, SmallVector<LiveInterval>> temporaries;
      for (auto task : program.getOps<exec::TaskOp>()) {
        auto [bytes, alive] = scratch.plan(task.getBody().front());
        task.setScratchBytes(bytes);
        task->setAttr(exec::kAliveBytesAttr, Builder(&getContext()).getI64IntegerAttr(mostAlive(alive)));
        most = std::max(most, bytes);
        temporaries[task] = std::move(alive);
      }
      ArenaPlanner arena(program);
      arena.plan(most, workspaceBytes);
      program->setAttr(exec::kLeastBytesAttr, Builder(&getContext()).getI64IntegerAttr(leastBytes(program, alignUp(most) + arena.getActivationBytes(), temporaries)));
    }
  }

  /// The arena with no more of what is held for a while than is alive at once.
  static int64_t leastBytes(exec::ProgramOp program, int64_t packedBytes, const DenseMap<Operation *, SmallVector<LiveInterval>> &temporaries) {
    int64_t bytes = *program.getArenaBytes() - packedBytes;
    for (auto buffer : program.getOps<exec::BufferOp>())
      if (buffer.getKind() == pipe::BufferKind::Complete)
        bytes -= alignUp(exec::bytesOf(buffer.getMemory()));
    return bytes + mostAliveInStep(program, temporaries);
  }
};
} // namespace
