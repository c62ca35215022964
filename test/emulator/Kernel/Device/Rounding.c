/* Arithmetic with a stated rounding, approximate functions, conversions: in the rounding mode of the processor, so that
   rm, rp and rz are exact. Approximate functions are computed as precisely as the C library does; flushing of
   subnormals (ftz) is not imitated. */
#include "test/emulator/Kernel/Device/Device.h"
#include <math.h>
#include <xmmintrin.h>

/* The barriers keep the operation between the two changes of mode. */
#define HIDE(x) __asm__ volatile("" : "+x"(x))
#define WITH_MODE(type, mode, expression)                                                                              \
  uint32_t before = _mm_getcsr();                                                                                      \
  _mm_setcsr((before & ~0x6000u) | (mode));                                                                            \
  HIDE(a);                                                                                                             \
  HIDE(b);                                                                                                             \
  HIDE(c);                                                                                                             \
  type result = (expression);                                                                                          \
  HIDE(result);                                                                                                        \
  _mm_setcsr(before);                                                                                                  \
  return result;

enum { Nearest = 0, Down = 0x2000, Up = 0x4000, Zero = 0x6000 };

#pragma STDC FP_CONTRACT OFF
#define THREE(name, type, mode, expression)                                                                            \
  __attribute__((noinline)) static type name##Rounded(type a, type b, type c) { WITH_MODE(type, mode, expression) }
#define NARROW(name, mode)                                                                                             \
  __attribute__((noinline)) static float name(double a) {                                                              \
    double b = 0, c = 0;                                                                                               \
    WITH_MODE(float, mode, (float)a)                                                                                   \
  }
#define ONE_MODE(suffix, libdevice, mode)                                                                              \
  THREE(addF##suffix, float, mode, a + b)                                                                              \
  THREE(mulF##suffix, float, mode, a *b)                                                                               \
  THREE(divF##suffix, float, mode, a / b)                                                                              \
  THREE(fmaF##suffix, float, mode, fmaf(a, b, c))                                                                      \
  THREE(sqrtF##suffix, float, mode, __builtin_sqrtf(a))                                                                \
  THREE(addD##suffix, double, mode, a + b)                                                                             \
  THREE(mulD##suffix, double, mode, a *b)                                                                              \
  THREE(divD##suffix, double, mode, a / b)                                                                             \
  THREE(fmaD##suffix, double, mode, fma(a, b, c))                                                                      \
  THREE(sqrtD##suffix, double, mode, __builtin_sqrt(a))                                                                \
  NARROW(narrow##suffix, mode)                                                                                         \
  float nvvm_add_##suffix##_f(float a, float b) { return addF##suffix##Rounded(a, b, 0); }                             \
  float nvvm_mul_##suffix##_f(float a, float b) { return mulF##suffix##Rounded(a, b, 0); }                             \
  float nvvm_div_##suffix##_f(float a, float b) { return divF##suffix##Rounded(a, b, 0); }                             \
  float nvvm_rcp_##suffix##_f(float a) { return divF##suffix##Rounded(1, a, 0); }                                      \
  float nvvm_sqrt_##suffix##_f(float a) { return sqrtF##suffix##Rounded(a, 0, 0); }                                    \
  float nvvm_fma_##suffix##_f(float a, float b, float c) { return fmaF##suffix##Rounded(a, b, c); }                    \
  float nvvm_add_##suffix##_ftz_f(float a, float b) { return addF##suffix##Rounded(a, b, 0); }                         \
  float nvvm_mul_##suffix##_ftz_f(float a, float b) { return mulF##suffix##Rounded(a, b, 0); }                         \
  float nvvm_div_##suffix##_ftz_f(float a, float b) { return divF##suffix##Rounded(a, b, 0); }                         \
  float nvvm_rcp_##suffix##_ftz_f(float a) { return divF##suffix##Rounded(1, a, 0); }                                  \
  float nvvm_sqrt_##suffix##_ftz_f(float a) { return sqrtF##suffix##Rounded(a, 0, 0); }                                \
  float nvvm_fma_##suffix##_ftz_f(float a, float b, float c) { return fmaF##suffix##Rounded(a, b, c); }                \
  double nvvm_add_##suffix##_d(double a, double b) { return addD##suffix##Rounded(a, b, 0); }                          \
  double nvvm_mul_##suffix##_d(double a, double b) { return mulD##suffix##Rounded(a, b, 0); }                          \
  double nvvm_div_##suffix##_d(double a, double b) { return divD##suffix##Rounded(a, b, 0); }                          \
  double nvvm_rcp_##suffix##_d(double a) { return divD##suffix##Rounded(1, a, 0); }                                    \
  double nvvm_sqrt_##suffix##_d(double a) { return sqrtD##suffix##Rounded(a, 0, 0); }                                  \
  double nvvm_fma_##suffix##_d(double a, double b, double c) { return fmaD##suffix##Rounded(a, b, c); }                \
  float nvvm_d2f_##suffix(double a) { return narrow##suffix(a); }                                                      \
  float nvvm_d2f_##suffix##_ftz(double a) { return narrow##suffix(a); }                                                \
  float __nv_fadd_##libdevice(float a, float b) { return addF##suffix##Rounded(a, b, 0); }                             \
  float __nv_fsub_##libdevice(float a, float b) { return addF##suffix##Rounded(a, -b, 0); }                            \
  float __nv_fmul_##libdevice(float a, float b) { return mulF##suffix##Rounded(a, b, 0); }                             \
  float __nv_fdiv_##libdevice(float a, float b) { return divF##suffix##Rounded(a, b, 0); }                             \
  float __nv_frcp_##libdevice(float a) { return divF##suffix##Rounded(1, a, 0); }                                      \
  float __nv_fsqrt_##libdevice(float a) { return sqrtF##suffix##Rounded(a, 0, 0); }                                    \
  float __nv_fmaf_##libdevice(float a, float b, float c) { return fmaF##suffix##Rounded(a, b, c); }                    \
  double __nv_dadd_##libdevice(double a, double b) { return addD##suffix##Rounded(a, b, 0); }                          \
  double __nv_dsub_##libdevice(double a, double b) { return addD##suffix##Rounded(a, -b, 0); }                         \
  double __nv_dmul_##libdevice(double a, double b) { return mulD##suffix##Rounded(a, b, 0); }                          \
  double __nv_ddiv_##libdevice(double a, double b) { return divD##suffix##Rounded(a, b, 0); }                          \
  double __nv_drcp_##libdevice(double a) { return divD##suffix##Rounded(1, a, 0); }                                    \
  double __nv_dsqrt_##libdevice(double a) { return sqrtD##suffix##Rounded(a, 0, 0); }                                  \
  double __nv_fma_##libdevice(double a, double b, double c) { return fmaD##suffix##Rounded(a, b, c); }                 \
  float __nv_double2float_##libdevice(double a) { return narrow##suffix(a); }
ONE_MODE(rm, rd, Down)
ONE_MODE(rp, ru, Up)
ONE_MODE(rz, rz, Zero)

/* To nearest is what the processor does anyway: these inline to one instruction. */
#undef THREE
#define THREE(name, type, mode, expression)                                                                            \
  static inline type name##Rounded(type a, type b, type c) { return expression; }
#undef NARROW
#define NARROW(name, mode)                                                                                             \
  static inline float name(double a) { return (float)a; }
ONE_MODE(rn, rn, Nearest)

float nvvm_sqrt_f(float a) { return __builtin_sqrtf(a); }
float nvvm_fma_rn_ftz_sat_f(float a, float b, float c) { return fminf(fmaxf(fmaf(a, b, c), 0), 1); }

#define APPROXIMATE(name, expression)                                                                                  \
  float nvvm_##name##_approx_f(float a) { return expression; }                                                         \
  float nvvm_##name##_approx_ftz_f(float a) { return expression; }                                                     \
  float ptx_##name##_approx_f32(float a) { return expression; }                                                        \
  float ptx_##name##_approx_ftz_f32(float a) { return expression; }
APPROXIMATE(ex2, exp2f(a))
APPROXIMATE(lg2, log2f(a))
APPROXIMATE(sin, sinf(a))
APPROXIMATE(cos, cosf(a))
APPROXIMATE(tanh, tanhf(a))
APPROXIMATE(rsqrt, 1 / __builtin_sqrtf(a))
APPROXIMATE(sqrt, __builtin_sqrtf(a))
APPROXIMATE(rcp, 1 / a)
float nvvm_div_approx_f(float a, float b) { return a / b; }
float nvvm_div_approx_ftz_f(float a, float b) { return a / b; }
float nvvm_div_full(float a, float b) { return a / b; }
float nvvm_div_full_ftz(float a, float b) { return a / b; }
float ptx_div_approx_f32(float a, float b) { return a / b; }
double nvvm_rcp_approx_ftz_d(double a) { return 1 / a; }
double nvvm_rsqrt_approx_d(double a) { return 1 / __builtin_sqrt(a); }

/* Halves and bfloat16 in inline assembly travel as integers. */
uint16_t ptx_cvt_rn_bf16_f32(float a) { return p3dToBf16(a); }
uint16_t ptx_cvt_rz_bf16_f32(float a) { return p3dBits(a) >> 16; }
float ptx_cvt_f32_bf16(uint16_t a) { return p3dFromBf16(a); }
uint32_t ptx_cvt_rn_bf16x2_f32(float high, float low) { return (uint32_t)p3dToBf16(high) << 16 | p3dToBf16(low); }
uint32_t ptx_pack(uint16_t low, uint16_t high) { return (uint32_t)high << 16 | low; }

#define BF16_BINARY(name, expression)                                                                                  \
  static inline uint16_t name##Bf16(uint16_t x, uint16_t y) {                                                          \
    float a = p3dFromBf16(x), b = p3dFromBf16(y);                                                                      \
    return p3dToBf16(expression);                                                                                      \
  }                                                                                                                    \
  uint16_t ptx_##name##_bf16(uint16_t x, uint16_t y) { return name##Bf16(x, y); }                                      \
  uint32_t ptx_##name##_bf16x2(uint32_t x, uint32_t y) {                                                               \
    return (uint32_t)name##Bf16(x >> 16, y >> 16) << 16 | name##Bf16(x, y);                                            \
  }
BF16_BINARY(add, a + b)
BF16_BINARY(sub, a - b)
BF16_BINARY(mul, a *b)
BF16_BINARY(max, fmaxf(a, b))
BF16_BINARY(min, fminf(a, b))
uint16_t ptx_neg_bf16(uint16_t x) { return x ^ 0x8000; }
uint32_t ptx_neg_bf16x2(uint32_t x) { return x ^ 0x80008000; }
uint16_t ptx_abs_bf16(uint16_t x) { return x & 0x7fff; }
uint32_t ptx_abs_bf16x2(uint32_t x) { return x & 0x7fff7fff; }
/* Rounded to odd on the way to float, so that the second rounding decides alone. */
static inline uint16_t narrowBf16(double value) {
  float narrow = (float)value;
  uint32_t bits = p3dBits(narrow);
  if ((double)narrow != value && value == value && !(bits & 1))
    narrow = p3dFloat(bits + (__builtin_fabs((double)narrow) < __builtin_fabs(value) ? 1 : -1));
  return p3dToBf16(narrow);
}
/* A product of two bfloat16 is exact in double. */
static inline uint16_t fmaBf16(uint16_t x, uint16_t y, uint16_t z) {
  return narrowBf16((double)p3dFromBf16(x) * p3dFromBf16(y) + p3dFromBf16(z));
}
uint16_t ptx_fma_rn_bf16(uint16_t x, uint16_t y, uint16_t z) { return fmaBf16(x, y, z); }
uint32_t ptx_fma_rn_bf16x2(uint32_t x, uint32_t y, uint32_t z) {
  return (uint32_t)fmaBf16(x >> 16, y >> 16, z >> 16) << 16 | fmaBf16(x, y, z);
}
static inline uint16_t half(_Float16 value) {
  uint16_t bits;
  __builtin_memcpy(&bits, &value, 2);
  return bits;
}
uint16_t ptx_cvt_rn_f16_f32(float a) { return half((_Float16)a); }
uint32_t ptx_cvt_rn_f16x2_f32(float high, float low) {
  return (uint32_t)half((_Float16)high) << 16 | half((_Float16)low);
}
float ptx_cvt_f32_f16(uint16_t a) {
  _Float16 value;
  __builtin_memcpy(&value, &a, 2);
  return value;
}
float nvvm_h2f(uint16_t a) { return ptx_cvt_f32_f16(a); }
uint16_t nvvm_f2h_rn(float a) { return half((_Float16)a); }

/* What code generation calls where the processor has no conversion of its own. */
static inline __bf16 asBf16(uint16_t bits) {
  __bf16 result;
  __builtin_memcpy(&result, &bits, 2);
  return result;
}
__bf16 __truncsfbf2(float value) { return asBf16(p3dToBf16(value)); }
__bf16 __truncdfbf2(double value) { return asBf16(narrowBf16(value)); }
