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

bool conflictsWith(ArrayRef<Access> mine, ArrayRef<Access> theirs) {
  return llvm::any_of(mine, [&](const Access &a) { return llvm::any_of(theirs, [&](const Access &b) { return isConflict(a, b); }); });
}

/// Events behind the last commands of some tasks that touch certain buffers: communication that has nothing else to wait for begins while those tasks, or others, go on.
class TaskEvents {
public:
  TaskEvents(const SymbolTable &symbols, int64_t stage, int64_t &events) : symbols(symbols), stage(stage), events(events) {}

  void add(Block &task) { tasks.push_back(&task); }

  /// The events that `accesses` have to wait for; records those that are not there yet.
  SmallVector<int64_t> before(ArrayRef<Access> accesses) {
    SmallVector<int64_t> found;
    for (Block *task : tasks)
      for (Operation &op : llvm::reverse(*task))
        if (auto command = dyn_cast<exec::Command>(op); command && conflictsWith(buffersOf(command), accesses)) {
          found.push_back(behind(command));
          break;
        }
    return found;
  }

private:
  /// Without the scratch, which the tasks share: what they leave there means nothing to others.
  SmallVector<Access> buffersOf(exec::Command command) {
    SmallVector<Access> accesses = accessesOf(command, symbols);
    llvm::erase_if(accesses, [](const Access &access) { return !access.place.root; });
    return accesses;
  }

  int64_t behind(exec::Command command) {
    auto [entry, isNew] = recorded.try_emplace(command, events);
    if (isNew) {
      OpBuilder builder(command->getContext());
      builder.setInsertionPointAfter(command);
      builder.create<exec::RecordOp>(builder.getUnknownLoc(), events++, streamOf(command, stage));
    }
    return entry->second;
  }

  const SymbolTable &symbols;
  int64_t stage;
  int64_t &events;
  SmallVector<Block *> tasks;
  DenseMap<Operation *, int64_t> recorded;
};

/// Whether a command fills a buffer that is for nothing else.
bool receivesAhead(exec::Command command, exec::ProgramOp program) {
  auto recv = dyn_cast<exec::RecvOp>(command.getOperation());
  auto address = recv ? recv.getOuts().front().getDefiningOp<exec::AddressOp>() : exec::AddressOp();
  return address && cast<exec::BufferOp>(SymbolTable::lookupSymbolIn(program, address.getBuffer())).getKind() == pipe::BufferKind::Receive;
}

/// The commands of one function or task. With `earlier` its communication waits for what touched its memory in those tasks; else for all computation before.
class EventPlacer {
public:
  EventPlacer(const SymbolTable &symbols, int64_t stage, int64_t &events, TaskEvents *earlier = nullptr, SharedPlaces *places = nullptr)
      : symbols(symbols), stage(stage), events(events), earlier(earlier), places(places), builder(symbols.getOp()->getContext()) {}

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
      earlier = nullptr;
      return;
    }
    if (earlier) {
      for (int64_t event : earlier->before(accesses))
        wait(event, stream);
    } else if (auto program = command->getParentOfType<exec::ProgramOp>(); program && receivesAhead(command, program)) {
      // The last use of the buffer was in this task, for the microbatch before.
      TaskEvents self(symbols, stage, events);
      self.add(*command->getBlock());
      for (int64_t event : self.before(accesses))
        wait(event, stream);
    } else {
      if (!computed)
        computed = record(exec::Stream::Compute);
      wait(*computed, stream);
    }
    builder.setInsertionPointAfter(command);
    pending.push_back({stream, record(stream), std::move(accesses), memory::isOrderedByRuntime(command)});
  }

  /// Whether one writes what the other touches: the same memory, or another's that lies in the same place at another time.
  bool isInTheWay(ArrayRef<Access> mine, ArrayRef<Access> theirs) {
    return conflictsWith(mine, theirs) || (places && llvm::any_of(mine, [&](const Access &a) {
             return llvm::any_of(theirs, [&](const Access &b) { return (a.writes || b.writes) && places->share(a.place.root, b.place.root); });
           }));
  }

  void waitForConflicts(exec::Stream stream, ArrayRef<Access> accesses) {
    for (Pending *open = pending.begin(); open != pending.end();) {
      if (!isInTheWay(accesses, open->accesses) || open->stream == stream) {
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
  TaskEvents *earlier;
  SharedPlaces *places; ///< of the program
  OpBuilder builder;
  SmallVector<Pending> pending;
  /// The event behind all computation so far, if one was recorded.
  std::optional<int64_t> computed;
};

struct AssignStreams : memory::impl::AssignStreamsBase<AssignStreams> {
  /// Gradients are synchronised in a task of their own, behind all others; it is enqueued while the last backward task still runs, so that each reduction begins
  /// when its gradients are complete.
  static void assign(exec::ProgramOp program, const SymbolTable &symbols, int64_t &events) {
    TaskEvents earlier(symbols, program.getIndex(), events);
    SharedPlaces places(program);
    for (auto task : program.getOps<exec::TaskOp>()) {
      Block &body = task.getBody().front();
      bool synchronizes = task.getKind() == pipe::TaskKind::Synchronize;
      EventPlacer(symbols, program.getIndex(), events, synchronizes ? &earlier : nullptr, &places).run(body);
      earlier.add(body);
    }
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    int64_t events = 0;
    // Functions have no transfers, so their stage does not matter.
    for (auto function : module.getOps<exec::FunctionOp>())
      EventPlacer(symbols, 0, events).run(function.getBody().front());
    for (auto program : module.getOps<exec::ProgramOp>())
      assign(program, symbols, events);
    module->setAttr(exec::kEventsAttr, Builder(&getContext()).getI64IntegerAttr(events));
  }
};
} // namespace
