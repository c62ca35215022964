// Launches: threads as a loop in one fibre, or as fibres that a scheduler runs, first come, first served.
#include "test/emulator/Kernel/ExecutorState.h"
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace p3d::emulator {
namespace context = boost::context::detail;

static Fibre &fibreOf(P3dThread *thread) { return *reinterpret_cast<Fibre *>(thread); }
template <typename State> static State &stateOf(P3dThread *thread) { return *static_cast<State *>(thread->executor); }

static std::string blockName(const P3dThread &thread) {
  return fmt::format("block ({},{},{})", thread.block[0], thread.block[1], thread.block[2]);
}

void Executor::State::fail(Fibre &fibre, std::string text) {
  const P3dThread &thread = fibre.thread;
  fault = fmt::format("kernel {}: {}, thread ({},{},{}): {}", launch->kernel->name, blockName(thread), thread.thread[0],
                      thread.thread[1], thread.thread[2], text);
  leaving = &fibre;
  context::jump_fcontext(scheduler, nullptr);
  __builtin_unreachable();
}

/// The stacks of a failed launch are not unwound: compiled kernels own nothing.
void Executor::State::abandon() {
  for (Fibre &fibre : fibres)
    fibre.hasLoop = false, fibre.where = nullptr;
}

void Executor::State::check(Fibre &fibre, const void *address, uint64_t bytes, uint32_t kind) {
  const char *problem = launch->checker->check(address, bytes, P3dAccessKind(kind));
  if (problem && !stacks.contains(address))
    fail(fibre, fmt::format("{} of {} bytes at {}: {}",
                            kind == P3dRead    ? "read"
                            : kind == P3dWrite ? "write"
                                               : "atomic access",
                            bytes, address, problem));
}

static uint32_t barrierService(P3dThread *thread, uint32_t id, uint32_t count, uint32_t predicate);
static uint64_t warpService(P3dThread *thread, uint32_t op, uint32_t mask, uint64_t value, uint32_t b, uint32_t c);
static void accessService(P3dThread *thread, const void *address, uint64_t bytes, uint32_t kind);
static void faultService(P3dThread *thread, const char *message);

static const P3dServices unchecked = {barrierService, warpService, nullptr, faultService};
static const P3dServices checked = {barrierService, warpService, accessService, faultService};

void Executor::State::prepare(const Launch &next) {
  launch = &next;
  const P3dKernel &kernel = *next.kernel;
  threads = next.block.count();
  if (threads == 0 || threads > 1024 || next.grid.count() == 0)
    throw KernelError(
        fmt::format("kernel {}: a grid of {} blocks of {} threads", kernel.name, next.grid.count(), threads));
  if (kernel.maxThreads && threads > kernel.maxThreads)
    throw KernelError(fmt::format("kernel {}: blocks of {} threads, but its launch bounds allow {}", kernel.name,
                                  threads, kernel.maxThreads));
  size_t count = kernel.usesFibres ? threads : 1, shared = kernel.staticSharedBytes + next.sharedBytes;
  stacks.reserve(count);
  if (fibres.size() < count)
    fibres.resize(count);
  for (size_t i = threads; i < fibres.size(); ++i)
    fibres[i].state = FibreState::Done;
  warps.resize(std::max<size_t>(warps.size(), (threads + 31) / 32));
  if (sharedStorage.size() < shared + 256)
    sharedStorage.resize(shared + 256);
  char *base = sharedStorage.data();
  base += -reinterpret_cast<uintptr_t>(base) & 255;
  for (size_t i = 0; i < count; ++i) {
    P3dThread &thread = fibres[i].thread;
    uint32_t linear = i;
    thread = {{linear % next.block.x, linear / next.block.x % next.block.y, linear / next.block.x / next.block.y},
              {next.block.x, next.block.y, next.block.z},
              {0, 0, 0},
              {next.grid.x, next.grid.y, next.grid.z},
              linear,
              linear % 32,
              linear / 32,
              uint32_t(shared),
              base,
              next.checker ? &checked : &unchecked,
              this};
  }
}

/// Threads that never wait, one after another, in one fibre: so that a fault leaves compiled code by a jump.
static void loopMain(context::transfer_t from) {
  auto &fibre = *static_cast<Fibre *>(from.data);
  auto &state = stateOf<Executor::State>(&fibre.thread);
  state.scheduler = from.fctx;
  const Launch &launch = *state.launch;
  P3dThread &thread = fibre.thread;
  for (size_t block = 0; block < launch.grid.count(); ++block) {
    thread.block[0] = block % launch.grid.x;
    thread.block[1] = block / launch.grid.x % launch.grid.y;
    thread.block[2] = block / launch.grid.x / launch.grid.y;
    memset(thread.shared, 0xff, thread.sharedBytes);
    thread.linear = 0;
    for (thread.thread[2] = 0; thread.thread[2] < launch.block.z; ++thread.thread[2])
      for (thread.thread[1] = 0; thread.thread[1] < launch.block.y; ++thread.thread[1])
        for (thread.thread[0] = 0; thread.thread[0] < launch.block.x; ++thread.thread[0], ++thread.linear) {
          thread.lane = thread.linear % 32, thread.warp = thread.linear / 32;
          launch.kernel->function(&thread, launch.arguments);
        }
  }
  fibre.state = FibreState::Done;
  context::jump_fcontext(state.scheduler, nullptr);
  __builtin_unreachable();
}

/// One CUDA thread after another, of block after block and launch after launch.
static void fibreMain(context::transfer_t from) {
  for (;;) {
    auto &fibre = *static_cast<Fibre *>(from.data); // fibres may have moved since the last launch
    auto &state = stateOf<Executor::State>(&fibre.thread);
    state.arrive(from);
    state.launch->kernel->function(&fibre.thread, state.launch->arguments);
    state.leave(fibre);
    from = state.jump(&fibre);
  }
}

void Executor::State::runLoops() {
  Fibre &fibre = fibres[0];
  fibre.hasLoop = false;
  fault.clear();
  context::jump_fcontext(context::make_fcontext(stacks.top(0), stacks.bytes(0), loopMain), &fibre);
  fibre.where = nullptr;
}

context::fcontext_t Executor::State::contextOf(Fibre &fibre) {
  if (!fibre.hasLoop) {
    fibre.where = context::make_fcontext(stacks.top(fibre.thread.linear), stacks.bytes(fibre.thread.linear), fibreMain);
    fibre.hasLoop = true;
  }
  return fibre.where;
}

/// Keeps where the one that jumped here goes on.
void Executor::State::arrive(context::transfer_t from) {
  if (leaving)
    leaving->where = from.fctx;
  else
    scheduler = from.fctx;
}

/// From a fibre (or, null, from the scheduler) to the next that is ready, or to the scheduler if none is.
context::transfer_t Executor::State::jump(Fibre *fibre) {
  leaving = fibre;
  if (nextReady < ready.size()) {
    Fibre &next = fibres[ready[nextReady++]];
    return context::jump_fcontext(contextOf(next), &next);
  }
  ready.clear();
  nextReady = 0;
  return context::jump_fcontext(scheduler, nullptr);
}

void Executor::State::switchFrom(Fibre *fibre) { arrive(jump(fibre)); }

void Executor::State::runFibres(Dim3 block) {
  done = 0;
  ready.clear();
  nextReady = 0;
  for (Barrier &barrier : barriers)
    barrier = Barrier();
  for (uint32_t i = 0; i < warps.size(); ++i) {
    warps[i].meetings.clear();
    uint32_t lanes = threads > i * 32 ? threads - i * 32 : 0;
    warps[i].live = lanes >= 32 ? ~0u : (1u << lanes) - 1;
  }
  memset(fibres[0].thread.shared, 0xff, fibres[0].thread.sharedBytes);
  for (uint32_t i = 0; i < threads; ++i) {
    P3dThread &thread = fibres[i].thread;
    thread.block[0] = block.x, thread.block[1] = block.y, thread.block[2] = block.z;
    fibres[i].state = FibreState::Ready;
    ready.push_back(i);
  }
  switchFrom(nullptr);
  if (!fault.empty())
    return;
  if (done < threads)
    reportDivergence(block);
}

Executor::Executor() : state(std::make_unique<State>()) {}
Executor::~Executor() = default;

void Executor::run(const Launch &launch) {
  state->prepare(launch);
  state->fault.clear();
  if (!launch.kernel->usesFibres)
    state->runLoops();
  else
    for (size_t block = 0; block < launch.grid.count() && state->fault.empty(); ++block)
      state->runFibres({unsigned(block % launch.grid.x), unsigned(block / launch.grid.x % launch.grid.y),
                        unsigned(block / launch.grid.x / launch.grid.y)});
  if (!state->fault.empty()) {
    state->abandon();
    throw KernelError(std::exchange(state->fault, {}));
  }
}

static uint32_t barrierService(P3dThread *thread, uint32_t id, uint32_t count, uint32_t predicate) {
  return stateOf<Executor::State>(thread).barrier(fibreOf(thread), id, count, predicate);
}
static uint64_t warpService(P3dThread *thread, uint32_t op, uint32_t mask, uint64_t value, uint32_t b, uint32_t c) {
  return stateOf<Executor::State>(thread).warp(fibreOf(thread), op, mask, value, b, c);
}
static void accessService(P3dThread *thread, const void *address, uint64_t bytes, uint32_t kind) {
  stateOf<Executor::State>(thread).check(fibreOf(thread), address, bytes, kind);
}
static void faultService(P3dThread *thread, const char *message) {
  stateOf<Executor::State>(thread).fail(fibreOf(thread), message);
}

} // namespace p3d::emulator
