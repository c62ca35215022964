// Vector clocks: what each stream knows to be done, through records and waits.
#include "passes/Memory/Passes.h"
#include "passes/Memory/Streams.h"
#include <array>

namespace p3d::memory {
#define GEN_PASS_DEF_VERIFYSTREAMS
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
constexpr size_t kStreams = exec::getMaxEnumValForStream() + 1, kCompute = size_t(exec::Stream::Compute);
/// All computation ahead of the function or task counts as one command.
constexpr int64_t kEntry = 1;
/// For each stream how many of its commands are done.
using Clock = std::array<int64_t, kStreams>;

Clock later(const Clock &a, const Clock &b) {
  Clock result;
  for (size_t i = 0; i < kStreams; ++i)
    result[i] = std::max(a[i], b[i]);
  return result;
}

/// A command that was enqueued.
struct Enqueued {
  exec::Command command;
  exec::Stream stream;
  int64_t number; ///< on its stream, from 1
  SmallVector<Access> accesses;
};

class StreamSimulation {
public:
  StreamSimulation(const SymbolTable &symbols, int64_t stage) : symbols(symbols), stage(stage) { clocks[kCompute][kCompute] = kEntry; }

  LogicalResult run(Block &commands) {
    for (Operation &op : commands) {
      if (auto record = dyn_cast<exec::RecordOp>(op))
        events[record.getEvent()] = clockOf(record.getStream());
      else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
        auto event = events.find(wait.getEvent());
        if (event == events.end())
          return wait.emitOpError() << "waits for event " << wait.getEvent() << ", which nothing before it records";
        clockOf(wait.getStream()) = later(clockOf(wait.getStream()), event->second);
      } else if (auto command = dyn_cast<exec::Command>(op); command && failed(enqueue(command)))
        return failure();
    }
    return checkEnd();
  }

private:
  Clock &clockOf(exec::Stream stream) { return clocks[size_t(stream)]; }

  LogicalResult enqueue(exec::Command command) {
    Enqueued mine{command, streamOf(command, stage), 0, accessesOf(command, symbols)};
    Clock &clock = clockOf(mine.stream);
    if (clock[kCompute] < kEntry)
      return command->emitOpError() << "on stream " << exec::stringifyStream(mine.stream) << " may begin before the computation ahead of its function or task is done; it has to wait for an event of "
                                    << "stream compute";
    for (const Enqueued &other : all)
      if (other.stream != mine.stream && failed(checkOrder(mine, other, clock)))
        return failure();
    mine.number = ++clock[size_t(mine.stream)];
    all.push_back(std::move(mine));
    return success();
  }

  LogicalResult checkOrder(const Enqueued &mine, const Enqueued &other, const Clock &clock) {
    if (other.number <= clock[size_t(other.stream)])
      return success();
    for (const Access &access : mine.accesses)
      for (const Access &theirs : other.accesses)
        if (isConflict(access, theirs)) {
          InFlightDiagnostic error = mine.command->emitOpError();
          error << (access.writes ? "writes" : "reads") << " on stream " << exec::stringifyStream(mine.stream) << " what a command on stream " << exec::stringifyStream(other.stream) << " "
                << (theirs.writes ? "writes" : "reads") << ", in no order; an exec.wait for that command is missing";
          error.attachNote(other.command->getLoc()) << "the other command";
          return error;
        }
    return success();
  }

  LogicalResult checkEnd() {
    for (const Enqueued &other : all)
      if (other.stream != exec::Stream::Compute && !isOrderedByRuntime(other.command) && other.number > clocks[kCompute][size_t(other.stream)])
        return other.command->emitOpError() << "on stream " << exec::stringifyStream(other.stream) << " may go on after the end of its function or task; computation has to wait for it";
    return success();
  }

  const SymbolTable &symbols;
  int64_t stage;
  std::array<Clock, kStreams> clocks{};
  DenseMap<int64_t, Clock> events;
  SmallVector<Enqueued> all;
};

struct VerifyStreams : memory::impl::VerifyStreamsBase<VerifyStreams> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto check = [&](Block &commands, int64_t stage) {
      if (failed(StreamSimulation(symbols, stage).run(commands)))
        signalPassFailure();
    };
    for (auto function : module.getOps<exec::FunctionOp>())
      check(function.getBody().front(), 0);
    for (auto program : module.getOps<exec::ProgramOp>())
      for (auto task : program.getOps<exec::TaskOp>())
        check(task.getBody().front(), program.getIndex());
  }
};
} // namespace
