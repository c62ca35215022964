// Vector clocks: what each stream knows to be done, through records and waits.
#include "passes/Memory/Passes.h"
#include "passes/Memory/Streams.h"
#include <array>
#include <map>

namespace p3d::memory {
#define GEN_PASS_DEF_VERIFYSTREAMS
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
constexpr size_t kStreams = exec::getMaxEnumValForStream() + 1, kCompute = size_t(exec::Stream::Compute);
/// In a function all computation ahead of it counts as one command.
constexpr int64_t kEntry = 1;
/// For each stream how many of its commands are done.
using Clock = std::array<int64_t, kStreams>;

void join(Clock &clock, const Clock &other) {
  for (size_t i = 0; i < kStreams; ++i)
    clock[i] = std::max(clock[i], other[i]);
}

/// The last of those commands of one stream that do the same with the same memory.
struct Past {
  Access access;
  size_t stream;
  int64_t number; ///< on its stream, from 1
  Operation *command;
};

/// The streams of one rank.
class Streams {
public:
  Streams(const SymbolTable &symbols, int64_t stage) : symbols(symbols), stage(stage) {}

  /// Events that commands of the whole program record: until then a wait for them passes.
  void expect(int64_t event) { expected.insert(event); }

  Clock &clockOf(exec::Stream stream) { return clocks[size_t(stream)]; }
  size_t streamNumber(exec::Command command) { return size_t(streamOf(command, stage)); }

  /// Goes through a list of commands; `enqueue` does so for each but records and waits.
  LogicalResult run(Block &commands, llvm::function_ref<LogicalResult(exec::Command)> enqueue) {
    for (Operation &op : commands) {
      LogicalResult result = success();
      if (auto record = dyn_cast<exec::RecordOp>(op))
        events[record.getEvent()] = clockOf(record.getStream());
      else if (auto event = dyn_cast<exec::WaitOp>(op))
        result = wait(event);
      else if (auto command = dyn_cast<exec::Command>(op))
        result = enqueue(command);
      if (failed(result))
        return failure();
    }
    return success();
  }

  LogicalResult wait(exec::WaitOp op) {
    auto event = events.find(op.getEvent());
    if (event == events.end() && expected.contains(op.getEvent()))
      return success();
    if (event == events.end())
      return op.emitOpError() << "waits for event " << op.getEvent() << ", which nothing before it records";
    join(clockOf(op.getStream()), event->second);
    return success();
  }

  /// `accesses` are those of `command`, their places made distinct for the slot.
  LogicalResult enqueue(exec::Command command, ArrayRef<Access> accesses) {
    size_t stream = streamNumber(command);
    Clock &clock = clocks[stream];
    for (const Access &access : accesses)
      for (const Past &past : history[access.place.root])
        if (past.stream != stream && past.number > clock[past.stream] && isConflict(access, past.access))
          return complain(command, access, past);
    int64_t number = ++clock[stream];
    for (const Access &access : accesses)
      remember({access, stream, number, command});
    return success();
  }

  /// Fails if a command of another stream may still run when computation goes on.
  LogicalResult checkEnd(StringRef end) {
    for (auto &[root, list] : history)
      for (const Past &past : list)
        if (past.stream != kCompute && !isOrderedByRuntime(cast<exec::Command>(past.command)) && past.number > clocks[kCompute][past.stream])
          return past.command->emitOpError() << "on stream " << name(past.stream) << " may go on after the end of its " << end << "; computation has to wait for it";
    return success();
  }

private:
  static StringRef name(size_t stream) { return exec::stringifyStream(exec::Stream(stream)); }

  LogicalResult complain(exec::Command command, const Access &access, const Past &past) {
    InFlightDiagnostic error = command->emitOpError();
    error << (access.writes ? "writes" : "reads") << " on stream " << name(streamNumber(command)) << " what a command on stream " << name(past.stream) << " "
          << (past.access.writes ? "writes" : "reads") << ", in no order; an exec.wait for that command is missing";
    error.attachNote(past.command->getLoc()) << "the other command";
    return error;
  }

  void remember(const Past &now) {
    SmallVector<Past, 4> &list = history[now.access.place.root];
    auto isSame = [&](const Past &past) {
      return past.stream == now.stream && past.access.writes == now.access.writes && past.access.place.begin == now.access.place.begin &&
             past.access.place.end == now.access.place.end;
    };
    auto *found = llvm::find_if(list, isSame);
    if (found == list.end())
      list.push_back(now);
    else
      *found = now;
  }

  const SymbolTable &symbols;
  int64_t stage;
  std::array<Clock, kStreams> clocks{};
  DenseMap<int64_t, Clock> events;
  DenseSet<int64_t> expected;
  DenseMap<void *, SmallVector<Past, 4>> history;
};

/// A function, whatever surrounds its calls.
LogicalResult verifyFunction(exec::FunctionOp function, const SymbolTable &symbols) {
  Streams streams(symbols, 0);
  streams.clockOf(exec::Stream::Compute)[kCompute] = kEntry;
  auto enqueue = [&](exec::Command command) -> LogicalResult {
    exec::Stream stream = streamOf(command, 0);
    if (streams.clockOf(stream)[kCompute] < kEntry)
      return command->emitOpError() << "on stream " << exec::stringifyStream(stream)
                                    << " may begin before the computation ahead of its function is done; it has to wait for an event of stream compute";
    return streams.enqueue(command, accessesOf(command, symbols));
  };
  if (failed(streams.run(function.getBody().front(), enqueue)))
    return failure();
  return streams.checkEnd("function");
}

/// A program, through the order of its schedule.
class ProgramSimulation {
public:
  ProgramSimulation(exec::ProgramOp program, const SymbolTable &symbols) : program(program), symbols(symbols), streams(symbols, program.getIndex()) {
    for (auto task : program.getOps<exec::TaskOp>())
      tasks[{task.getKind(), task.getChunk()}] = task;
    program.walk([&](exec::RecordOp record) { streams.expect(record.getEvent()); });
  }

  LogicalResult run() {
    for (Attribute attribute : program.getOrder() ? program.getOrder()->getValue() : ArrayRef<Attribute>()) {
      // The verifier of the schedule has read it.
      std::optional<exec::Action> action = exec::parseAction(program, cast<StringAttr>(attribute).getValue());
      auto task = action ? tasks.find({action->kind, action->chunk}) : tasks.end();
      if (task != tasks.end() && failed(runTask(task->second, *action)))
        return failure();
    }
    return streams.checkEnd("program");
  }

private:
  LogicalResult runTask(exec::TaskOp task, exec::Action action) {
    int64_t slot = exec::slotOf(program, action);
    // Before a forward takes a slot, the runtime waits for what was sent from it.
    if (auto sent = sends.find(slot); sent != sends.end() && task.getKind() == pipe::TaskKind::Forward)
      join(streams.clockOf(exec::Stream::Compute), sent->second);
    return streams.run(task.getBody().front(), [&](exec::Command command) {
      LogicalResult result = streams.enqueue(command, placed(accessesOf(command, symbols), task, action.microbatch));
      if (isOrderedByRuntime(command))
        join(sends[slot], streams.clockOf(streamOf(command, program.getIndex())));
      return result;
    });
  }

  /// Scratch at its place in the arena, and activations of each slot for themselves.
  SmallVector<Access> placed(SmallVector<Access> accesses, exec::TaskOp task, int64_t microbatch) {
    for (Access &access : accesses) {
      if (!access.place.root) {
        access.place.begin += task.getScratchOffset().value_or(0);
        access.place.end += task.getScratchOffset().value_or(0);
        continue;
      }
      auto name = StringAttr::getFromOpaquePointer(access.place.root);
      auto buffer = cast<exec::BufferOp>(SymbolTable::lookupSymbolIn(program, name));
      if (!buffer.getStride())
        continue;
      int64_t slot = microbatch % exec::slotsOf(program, buffer);
      access.place.begin += slot * int64_t(*buffer.getStride());
      access.place.end += slot * int64_t(*buffer.getStride());
    }
    return accesses;
  }

  exec::ProgramOp program;
  const SymbolTable &symbols;
  Streams streams;
  std::map<std::pair<pipe::TaskKind, int64_t>, exec::TaskOp> tasks; ///< by kind and chunk
  std::map<int64_t, Clock> sends;                         ///< by slot among those of all chunks: what was sent from it
};

struct VerifyStreams : memory::impl::VerifyStreamsBase<VerifyStreams> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<exec::FunctionOp>())
      if (failed(verifyFunction(function, symbols)))
        return signalPassFailure();
    for (auto program : getOperation().getOps<exec::ProgramOp>())
      if (failed(ProgramSimulation(program, symbols).run()))
        return signalPassFailure();
  }
};
} // namespace
