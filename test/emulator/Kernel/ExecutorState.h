// The state of an executor: the fibres of the block that runs, and what they wait for. A fibre runs until it waits at a
// barrier or for its warp; the thread that completes a wait makes the others ready.
#pragma once
#include "test/emulator/Kernel/Executor.h"
#include "test/emulator/Kernel/Stacks.h"
#include "test/emulator/Kernel/Warp.h"
#include <boost/context/detail/fcontext.hpp>
#include <vector>

namespace p3d::emulator {

enum class FibreState { Ready, AtBarrier, AtWarp, Done };

struct Fibre {
  P3dThread thread; // first: services receive it
  boost::context::detail::fcontext_t where = nullptr;
  FibreState state = FibreState::Done;
  uint32_t barrier = 0, op = 0, mask = 0;
  uint64_t result = 0;
  bool hasLoop = false; // its stack holds the loop of fibreMain, ready for the next block
};

struct Barrier {
  uint32_t arrived = 0, expected = 0, predicates = 0;
};

/// Lanes that wait with one mask.
struct Meeting {
  uint32_t mask, op, arrived;
};

struct Warp {
  WarpValues values;
  uint32_t live = 0; ///< lanes that exist and have not returned
  std::vector<Meeting> meetings;
};

inline constexpr uint32_t barrierCount = 16;

struct Executor::State {
  Stacks stacks;
  std::vector<Fibre> fibres;
  std::vector<uint32_t> ready; ///< first come, first served, from `nextReady`
  size_t nextReady = 0;
  std::vector<Warp> warps;
  Barrier barriers[barrierCount];
  std::vector<char> sharedStorage;
  boost::context::detail::fcontext_t scheduler = nullptr;
  Fibre *leaving = nullptr; ///< who has just jumped; null: the scheduler
  const Launch *launch = nullptr;
  uint32_t threads = 0, done = 0;
  std::string fault;

  void prepare(const Launch &launch);
  void runLoops();
  void runFibres(Dim3 block);
  void switchFrom(Fibre *fibre);
  boost::context::detail::transfer_t jump(Fibre *fibre);
  void arrive(boost::context::detail::transfer_t from);
  boost::context::detail::fcontext_t contextOf(Fibre &fibre);
  void wait(Fibre &fibre, FibreState state);
  void wake(Fibre &fibre, uint64_t result);
  uint32_t barrier(Fibre &fibre, uint32_t id, uint32_t count, uint32_t predicate);
  uint64_t warp(Fibre &fibre, uint32_t op, uint32_t mask, uint64_t value, uint32_t b, uint32_t c);
  void finish(uint32_t warpIndex, size_t meeting, uint32_t awake);
  void leave(Fibre &fibre);
  void check(Fibre &fibre, const void *address, uint64_t bytes, uint32_t kind);
  [[noreturn]] void fail(Fibre &fibre, std::string text);
  [[noreturn]] void reportDivergence(Dim3 block);
  void abandon();
};

} // namespace p3d::emulator
