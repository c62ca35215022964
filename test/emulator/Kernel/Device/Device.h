/* How the device functions reach their thread. They are found by name: `llvm.nvvm.a.b` is nvvm_a_b, the PTX instruction
   `a.b` in inline assembly is ptx_a_b, a libdevice function has its own name. All are inlined into the kernel except
   those marked P3D_CALL, which the compiler recognises as waits and checks. */
#pragma once
#include "test/emulator/Kernel/ThreadContext.h"
#include <stdbool.h>

/* The thread that runs; the compiler puts the kernel's own argument in its place. */
struct P3dThread *p3dContext(void) __attribute__((const));

#define P3D_CALL __attribute__((noinline))

uint32_t p3dWaitBarrier(struct P3dThread *, uint32_t id, uint32_t count, uint32_t predicate)
    __attribute__((convergent));
uint64_t p3dWaitWarp(struct P3dThread *, uint32_t op, uint32_t mask, uint64_t value, uint32_t b, uint32_t c)
    __attribute__((convergent));
void p3dCheckAccess(struct P3dThread *, const void *address, uint64_t bytes, uint32_t kind, uint32_t alignment);

static inline uint32_t p3dBits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
static inline float p3dFloat(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

/* bfloat16 as its bits: to nearest even, quiet NaN kept. */
static inline uint16_t p3dToBf16(float value) {
  uint32_t bits = p3dBits(value);
  if (value != value)
    return 0x7fff;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
static inline float p3dFromBf16(uint16_t bits) { return p3dFloat((uint32_t)bits << 16); }
