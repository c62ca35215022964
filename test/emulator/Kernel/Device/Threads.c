/* Special registers, barriers, votes and shuffles. */
#include "test/emulator/Kernel/Device/Device.h"

P3D_CALL uint32_t p3dWaitBarrier(struct P3dThread *thread, uint32_t id, uint32_t count, uint32_t predicate) {
  return thread->services->barrier(thread, id, count, predicate);
}

P3D_CALL uint64_t p3dWaitWarp(struct P3dThread *thread, uint32_t op, uint32_t mask, uint64_t value, uint32_t b,
                              uint32_t c) {
  return thread->services->warp(thread, op, mask, value, b, c);
}

P3D_CALL void p3dCheckAccess(struct P3dThread *thread, const void *address, uint64_t bytes, uint32_t kind,
                             uint32_t alignment) {
  if ((uint64_t)address % alignment)
    thread->services->fault(thread, "misaligned access");
  if ((uint64_t)((const char *)address - thread->shared) + bytes <= thread->sharedBytes)
    return;
  if (thread->services->access)
    thread->services->access(thread, address, bytes, kind);
}

#define REGISTER3(name, field)                                                                                         \
  uint32_t nvvm_read_ptx_sreg_##name##_x(void) { return p3dContext()->field[0]; }                                      \
  uint32_t nvvm_read_ptx_sreg_##name##_y(void) { return p3dContext()->field[1]; }                                      \
  uint32_t nvvm_read_ptx_sreg_##name##_z(void) { return p3dContext()->field[2]; }
REGISTER3(tid, thread)
REGISTER3(ntid, threads)
REGISTER3(ctaid, block)
REGISTER3(nctaid, blocks)

uint32_t nvvm_read_ptx_sreg_laneid(void) { return p3dContext()->lane; }
uint32_t nvvm_read_ptx_sreg_warpid(void) { return p3dContext()->warp; }
uint32_t nvvm_read_ptx_sreg_warpsize(void) { return 32; }
uint32_t nvvm_read_ptx_sreg_lanemask_eq(void) { return 1u << p3dContext()->lane; }
uint32_t nvvm_read_ptx_sreg_lanemask_lt(void) { return (1u << p3dContext()->lane) - 1; }
uint32_t nvvm_read_ptx_sreg_lanemask_le(void) { return (2u << p3dContext()->lane) - 1; }
uint32_t nvvm_read_ptx_sreg_lanemask_gt(void) { return ~((2u << p3dContext()->lane) - 1); }
uint32_t nvvm_read_ptx_sreg_lanemask_ge(void) { return ~((1u << p3dContext()->lane) - 1); }
uint32_t ptx_mov_u32_laneid(void) { return p3dContext()->lane; }

void nvvm_barrier0(void) { p3dWaitBarrier(p3dContext(), 0, 0, 0); }
void nvvm_barrier_n(uint32_t id) { p3dWaitBarrier(p3dContext(), id, 0, 0); }
void nvvm_barrier(uint32_t id, uint32_t count) { p3dWaitBarrier(p3dContext(), id, count, 0); }
void nvvm_barrier_sync(uint32_t id) { p3dWaitBarrier(p3dContext(), id, 0, 0); }
void nvvm_barrier_sync_cnt(uint32_t id, uint32_t count) { p3dWaitBarrier(p3dContext(), id, count, 0); }
uint32_t nvvm_barrier0_popc(uint32_t predicate) { return p3dWaitBarrier(p3dContext(), 0, 0, predicate != 0); }
uint32_t nvvm_barrier0_or(uint32_t predicate) { return p3dWaitBarrier(p3dContext(), 0, 0, predicate != 0) != 0; }
uint32_t nvvm_barrier0_and(uint32_t predicate) { return p3dWaitBarrier(p3dContext(), 0, 0, predicate == 0) == 0; }

/* One thread runs at a time, in program order: fences have nothing to do but to keep the compiler from moving accesses.
 */
#define FENCE(name)                                                                                                    \
  void name(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
FENCE(nvvm_membar_cta)
FENCE(nvvm_membar_gl)
FENCE(nvvm_membar_sys)
FENCE(nvvm_fence_sc_cluster)

static inline uint64_t warp(uint32_t op, uint32_t mask, uint64_t value, uint32_t b, uint32_t c) {
  return p3dWaitWarp(p3dContext(), op, mask, value, b, c);
}

void nvvm_bar_warp_sync(uint32_t mask) { warp(P3dSyncWarp, mask, 0, 0, 0); }

/* A form with a predicate returns both in one word; the compiler takes it apart. */
#define SHUFFLE(name, op)                                                                                              \
  uint32_t nvvm_shfl_sync_##name##_i32(uint32_t mask, uint32_t value, uint32_t b, uint32_t c) {                        \
    return warp(op, mask, value, b, c);                                                                                \
  }                                                                                                                    \
  float nvvm_shfl_sync_##name##_f32(uint32_t mask, float value, uint32_t b, uint32_t c) {                              \
    return p3dFloat(warp(op, mask, p3dBits(value), b, c));                                                             \
  }                                                                                                                    \
  uint64_t nvvm_shfl_sync_##name##_i32p(uint32_t mask, uint32_t value, uint32_t b, uint32_t c) {                       \
    return warp(op, mask, value, b, c);                                                                                \
  }                                                                                                                    \
  uint64_t nvvm_shfl_sync_##name##_f32p(uint32_t mask, float value, uint32_t b, uint32_t c) {                          \
    return warp(op, mask, p3dBits(value), b, c);                                                                       \
  }
SHUFFLE(up, P3dShuffleUp)
SHUFFLE(down, P3dShuffleDown)
SHUFFLE(bfly, P3dShuffleXor)
SHUFFLE(idx, P3dShuffleIndex)

bool nvvm_vote_all_sync(uint32_t mask, bool predicate) { return warp(P3dVoteAll, mask, predicate, 0, 0); }
bool nvvm_vote_any_sync(uint32_t mask, bool predicate) { return warp(P3dVoteAny, mask, predicate, 0, 0); }
bool nvvm_vote_uni_sync(uint32_t mask, bool predicate) { return warp(P3dVoteUniform, mask, predicate, 0, 0); }
uint32_t nvvm_vote_ballot_sync(uint32_t mask, bool predicate) { return warp(P3dVoteBallot, mask, predicate, 0, 0); }
uint32_t nvvm_match_any_sync_i32(uint32_t mask, uint32_t value) { return warp(P3dMatchAny, mask, value, 0, 0); }
uint32_t nvvm_match_any_sync_i64(uint32_t mask, uint64_t value) { return warp(P3dMatchAny, mask, value, 0, 0); }
uint64_t nvvm_match_all_sync_i32p(uint32_t mask, uint32_t value) { return warp(P3dMatchAll, mask, value, 0, 0); }
uint64_t nvvm_match_all_sync_i64p(uint32_t mask, uint64_t value) { return warp(P3dMatchAll, mask, value, 0, 0); }

#define REDUCE(name, op)                                                                                               \
  uint32_t nvvm_redux_sync_##name(uint32_t value, uint32_t mask) { return warp(op, mask, value, 0, 0); }
REDUCE(add, P3dReduceAdd)
REDUCE(min, P3dReduceMin)
REDUCE(max, P3dReduceMax)
REDUCE(umin, P3dReduceUMin)
REDUCE(umax, P3dReduceUMax)
REDUCE(and, P3dReduceAnd)
REDUCE(or, P3dReduceOr)
REDUCE(xor, P3dReduceXor)

bool nvvm_isspacep_shared(const void *address) {
  return (uint64_t)((const char *)address - p3dContext()->shared) < p3dContext()->sharedBytes;
}
bool nvvm_isspacep_global(const void *address) { return !nvvm_isspacep_shared(address); }

/* Asynchronous copies are done at once: the earliest moment at which they may be seen. */
#define COPY(name, bytes)                                                                                              \
  void nvvm_cp_async_##name(void *to, const void *from) { __builtin_memcpy(to, from, bytes); }                         \
  void nvvm_cp_async_##name##_s(void *to, const void *from, uint32_t read) {                                           \
    __builtin_memset(to, 0, bytes);                                                                                    \
    __builtin_memcpy(to, from, read < bytes ? read : bytes);                                                           \
  }
COPY(ca_shared_global_4, 4)
COPY(ca_shared_global_8, 8)
COPY(ca_shared_global_16, 16)
COPY(cg_shared_global_16, 16)
void nvvm_cp_async_commit_group(void) {}
void nvvm_cp_async_wait_group(uint32_t groups) { (void)groups; }
void nvvm_cp_async_wait_all(void) {}

void __assertfail(const char *text, const char *file, uint32_t line, const char *function, uint64_t bytes) {
  p3dContext()->services->fault(p3dContext(), text);
}
void ptx_trap(void) { p3dContext()->services->fault(p3dContext(), "trap"); }
