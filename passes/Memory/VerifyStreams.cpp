// Vector clocks: what each stream knows to be done, through records and waits.
#include "passes/Memory/Passes.h"
#include "passes/Memory/Streams.h"
#include <array>
#include <limits>
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

/// The last command of one stream that reads, or writes, certain bytes.
struct Past {
  int64_t number = 0; ///< on its stream, from 1
  Operation *command = nullptr;
};

/// Neighbouring bytes with the same past.
struct Span {
  int64_t end;
  std::array<std::array<Past, 2>, kStreams> last{}; ///< reads, writes
};

/// The past of one memory, by the first bytes of its spans.
class History {
public:
  /// Calls `visit(stream, writes, past)` for what was done with [begin, end).
  template <typename Visit> void forEach(int64_t begin, int64_t end, Visit visit) const {
    auto span = spans.upper_bound(begin);
    if (span != spans.begin())
      --span;
    for (; span != spans.end() && span->first < end; ++span)
      if (span->second.end > begin)
        for (size_t stream = 0; stream < kStreams; ++stream)
          for (bool writes : {false, true})
            if (span->second.last[stream][writes].command)
              visit(stream, writes, span->second.last[stream][writes]);
  }

  void set(int64_t begin, int64_t end, size_t stream, bool writes, Past past) {
    cut(begin);
    cut(end);
    for (int64_t at = begin; at < end;) {
      auto span = spans.lower_bound(at);
      if (span == spans.end() || span->first > at)
        span = spans.insert(span, {at, Span{span == spans.end() ? end : std::min(end, span->first)}});
      span->second.last[stream][writes] = past;
      at = span->second.end;
    }
  }

private:
  void cut(int64_t at) {
    auto span = spans.lower_bound(at);
    if (span == spans.begin() || (--span)->second.end <= at)
      return;
    Span behind = span->second;
    span->second.end = at;
    spans.insert({at, behind});
  }

  std::map<int64_t, Span> spans;
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

  /// `accesses` are those of `command`, at places that no other memory of the same root has.
  LogicalResult enqueue(exec::Command command, ArrayRef<Access> accesses) {
    size_t stream = streamNumber(command);
    Clock &clock = clocks[stream];
    for (const Access &access : accesses) {
      LogicalResult isOrdered = success();
      history[access.place.root].forEach(access.place.begin, access.place.end, [&](size_t other, bool writes, const Past &past) {
        if (succeeded(isOrdered) && other != stream && past.number > clock[other] && (access.writes || writes))
          isOrdered = complain(command, access, other, writes, past);
      });
      if (failed(isOrdered))
        return failure();
    }
    int64_t number = ++clock[stream];
    for (const Access &access : accesses)
      history[access.place.root].set(access.place.begin, access.place.end, stream, access.writes, {number, command});
    return success();
  }

  /// Fails if a command of another stream may still run when computation goes on.
  LogicalResult checkEnd(StringRef end) {
    LogicalResult isDone = success();
    for (auto &[root, past] : history)
      past.forEach(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), [&](size_t stream, bool, const Past &last) {
        if (succeeded(isDone) && stream != kCompute && !isOrderedByRuntime(cast<exec::Command>(last.command)) && last.number > clocks[kCompute][stream])
          isDone = last.command->emitOpError() << "on stream " << name(stream) << " may go on after the end of its " << end << "; computation has to wait for it";
      });
    return isDone;
  }

private:
  static StringRef name(size_t stream) { return exec::stringifyStream(exec::Stream(stream)); }

  LogicalResult complain(exec::Command command, const Access &access, size_t other, bool writes, const Past &past) {
    InFlightDiagnostic error = command->emitOpError();
    error << (access.writes ? "writes" : "reads") << " on stream " << name(streamNumber(command)) << " what a command on stream " << name(other) << " "
          << (writes ? "writes" : "reads") << ", in no order; an exec.wait for that command is missing";
    error.attachNote(past.command->getLoc()) << "the other command";
    return error;
  }

  const SymbolTable &symbols;
  int64_t stage;
  std::array<Clock, kStreams> clocks{};
  DenseMap<int64_t, Clock> events;
  DenseSet<int64_t> expected;
  DenseMap<void *, History> history; ///< by the root of a place
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
  ProgramSimulation(exec::ProgramOp program, const SymbolTable &symbols) : program(program), symbols(symbols), buffers(program), streams(symbols, program.getIndex()) {
    program.walk([&](exec::RecordOp record) { streams.expect(record.getEvent()); });
  }

  LogicalResult run() {
    for (exec::Step step : exec::stepsOf(program))
      if (failed(runTask(step)))
        return failure();
    return streams.checkEnd("program");
  }

private:
  LogicalResult runTask(exec::Step step) {
    exec::TaskOp task = step.task;
    int64_t slot = exec::slotOf(program, {task.getKind(), step.microbatch, int64_t(task.getChunk())});
    // Before a forward takes a slot, the runtime waits for what was sent from it.
    if (auto sent = sends.find(slot); sent != sends.end() && task.getKind() == pipe::TaskKind::Forward)
      join(streams.clockOf(exec::Stream::Compute), sent->second);
    return streams.run(task.getBody().front(), [&](exec::Command command) {
      LogicalResult result = streams.enqueue(command, placed(accessesOf(command, symbols), task, step.microbatch));
      if (isOrderedByRuntime(command))
        join(sends[slot], streams.clockOf(streamOf(command, program.getIndex())));
      return result;
    });
  }

  /// Scratch and activations at their places in the arena, which is the memory without a root.
  SmallVector<Access> placed(SmallVector<Access> accesses, exec::TaskOp task, int64_t microbatch) {
    for (Access &access : accesses) {
      auto move = [&](int64_t bytes) {
        access.place = {nullptr, access.place.begin + bytes, access.place.end + bytes};
      };
      if (!access.place.root)
        move(task.getScratchOffset().value_or(0));
      else if (auto buffer = buffers.lookup<exec::BufferOp>(StringAttr::getFromOpaquePointer(access.place.root)); buffer.getSlab())
        move(buffers.lookup<exec::SlabOp>(*buffer.getSlab()).placeOf(microbatch) + *buffer.getOffset());
    }
    return accesses;
  }

  exec::ProgramOp program;
  const SymbolTable &symbols; ///< of the module
  const SymbolTable buffers;  ///< of the program
  Streams streams;
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
