/* What compiled kernel code and the executor share, in C: the device functions are C that clang turns into bitcode.
   A kernel is compiled to one function per CUDA thread, thread(context, arguments); special registers are fields of
   its context, and whatever needs other threads goes through the services. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct P3dThread;

/* What all threads of a warp that are named in a mask do together. */
enum P3dWarpOp {
  P3dSyncWarp,
  P3dShuffleUp,
  P3dShuffleDown,
  P3dShuffleXor,
  P3dShuffleIndex,
  P3dVoteAll,
  P3dVoteAny,
  P3dVoteUniform,
  P3dVoteBallot,
  P3dMatchAny,
  P3dMatchAll,
  P3dReduceAdd,
  P3dReduceMin,
  P3dReduceMax,
  P3dReduceUMin,
  P3dReduceUMax,
  P3dReduceAnd,
  P3dReduceOr,
  P3dReduceXor
};

enum P3dAccessKind { P3dRead, P3dWrite, P3dAtomic };

struct P3dServices {
  /* Waits until `count` threads of the block (0: all) are at barrier `id`; returns how many gave a true `predicate`. */
  uint32_t (*barrier)(struct P3dThread *, uint32_t id, uint32_t count, uint32_t predicate);
  /* Waits for the lanes in `mask`. A shuffle's result has its predicate in bit 32. */
  uint64_t (*warp)(struct P3dThread *, uint32_t op, uint32_t mask, uint64_t value, uint32_t b, uint32_t c);
  /* Checks an access outside the block's shared memory; null when nobody checks. */
  void (*access)(struct P3dThread *, const void *address, uint64_t bytes, uint32_t kind);
  /* Ends the launch with a message. */
  void (*fault)(struct P3dThread *, const char *message);
};

struct P3dThread {
  uint32_t thread[3], threads[3], block[3], blocks[3];
  uint32_t linear, lane, warp; /* index in the block; linear % 32; linear / 32 */
  uint32_t sharedBytes;        /* static and dynamic */
  char *shared;
  const struct P3dServices *services;
  void *executor;
};

typedef void P3dThreadFunction(struct P3dThread *, void **arguments);

/* One kernel of a compiled module; the module exports them as `p3dKernels`, ended by one without a name. */
struct P3dKernel {
  const char *name;
  P3dThreadFunction *function;
  const uint32_t *argumentBytes;
  uint32_t arguments, staticSharedBytes, maxThreads; /* maxThreads 0: not bounded */
  uint32_t usesFibres;                               /* it waits for other threads */
};

#ifdef __cplusplus
}
#endif
