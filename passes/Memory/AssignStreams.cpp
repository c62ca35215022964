// Events between computation and communication, where their memory says that they are needed; see Passes.td.
#include "passes/Memory/Passes.h"
#include "passes/Memory/Streams.h"

namespace p3d::memory {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// Communication whose end nothing waits for yet.
struct Pending {
  exec::Stream stream;
  int64_t event;
  SmallVector<Access> accesses;
  bool isOrderedByRuntime;
};

/// The commands of one function or task.
class EventPlacer {
public:
  EventPlacer(const SymbolTable &symbols, int64_t stage, int64_t &events)
      : symbols(symbols), stage(stage), events(events), builder(symbols.getOp()->getContext()) {}

  void run(Block &commands) {
    SmallVector<exec::Command> all;
    for (Operation &op : commands)
      if (auto command = dyn_cast<exec::Command>(op))
        all.push_back(command);
    for (exec::Command command : all)
      place(command);
    builder.setInsertionPointToEnd(&commands);
    for (const Pending &open : pending)
      if (!open.isOrderedByRuntime)
        wait(open.event, exec::Stream::Compute);
  }

private:
  void place(exec::Command command) {
    exec::Stream stream = streamOf(command, stage);
    SmallVector<Access> accesses = accessesOf(command, symbols);
    builder.setInsertionPoint(command);
    waitForConflicts(stream, accesses);
    if (stream == exec::Stream::Compute) {
      computed = std::nullopt;
      return;
    }
    if (!computed)
      computed = record(exec::Stream::Compute);
    wait(*computed, stream);
    builder.setInsertionPointAfter(command);
    pending.push_back({stream, record(stream), std::move(accesses), memory::isOrderedByRuntime(command)});
  }

  void waitForConflicts(exec::Stream stream, ArrayRef<Access> accesses) {
    for (Pending *open = pending.begin(); open != pending.end();) {
      bool conflicts = llvm::any_of(accesses, [&](const Access &mine) {
        return llvm::any_of(open->accesses, [&](const Access &theirs) { return isConflict(mine, theirs); });
      });
      if (!conflicts || open->stream == stream) {
        ++open;
        continue;
      }
      wait(open->event, stream);
      // What computation is behind, everything that begins after it is behind too.
      open = stream == exec::Stream::Compute ? pending.erase(open) : open + 1;
      computed = stream == exec::Stream::Compute ? std::nullopt : computed;
    }
  }

  int64_t record(exec::Stream stream) {
    builder.create<exec::RecordOp>(builder.getUnknownLoc(), events, stream);
    return events++;
  }
  void wait(int64_t event, exec::Stream stream) { builder.create<exec::WaitOp>(builder.getUnknownLoc(), event, stream); }

  const SymbolTable &symbols;
  int64_t stage;
  int64_t &events;
  OpBuilder builder;
  SmallVector<Pending> pending;
  /// The event behind all computation so far, if one was recorded.
  std::optional<int64_t> computed;
};

struct AssignStreams : memory::impl::AssignStreamsBase<AssignStreams> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    int64_t events = 0;
    // Functions have no transfers, so their stage does not matter.
    for (auto function : module.getOps<exec::FunctionOp>())
      EventPlacer(symbols, 0, events).run(function.getBody().front());
    for (auto program : module.getOps<exec::ProgramOp>())
      for (auto task : program.getOps<exec::TaskOp>())
        EventPlacer(symbols, program.getIndex(), events).run(task.getBody().front());
    module->setAttr(exec::kEventsAttr, Builder(&getContext()).getI64IntegerAttr(events));
  }
};
} // namespace
