/* The functions of NVIDIA's libdevice that kernels and MLIR's math lowering call, by the C library. */
#define _GNU_SOURCE 1
#include "test/emulator/Kernel/Device/Device.h"
#include <math.h>

#define UNARY(name)                                                                                                    \
  float __nv_##name##f(float a) { return name##f(a); }                                                                 \
  double __nv_##name(double a) { return name(a); }
UNARY(exp)
UNARY(exp2) UNARY(exp10) UNARY(expm1) UNARY(log) UNARY(log2) UNARY(log10) UNARY(log1p) UNARY(sin) UNARY(cos) UNARY(tan)
    UNARY(asin) UNARY(acos) UNARY(atan) UNARY(sinh) UNARY(cosh) UNARY(tanh) UNARY(asinh) UNARY(acosh) UNARY(atanh)
        UNARY(erf) UNARY(erfc) UNARY(sqrt) UNARY(cbrt) UNARY(ceil) UNARY(floor) UNARY(trunc) UNARY(round) UNARY(rint)
            UNARY(nearbyint) UNARY(fabs) UNARY(lgamma) UNARY(tgamma)

#define BINARY(name)                                                                                                   \
  float __nv_##name##f(float a, float b) { return name##f(a, b); }                                                     \
  double __nv_##name(double a, double b) { return name(a, b); }
                BINARY(pow) BINARY(atan2) BINARY(fmod) BINARY(fmax) BINARY(fmin) BINARY(fdim) BINARY(hypot)
                    BINARY(copysign) BINARY(remainder) BINARY(nextafter)

                        float __nv_fmaf(float a, float b, float c) {
  return fmaf(a, b, c);
}
double __nv_fma(double a, double b, double c) { return fma(a, b, c); }
float __nv_rsqrtf(float a) { return 1 / sqrtf(a); }
double __nv_rsqrt(double a) { return 1 / sqrt(a); }
float __nv_powif(float a, int b) { return powf(a, b); }
double __nv_powi(double a, int b) { return pow(a, b); }
float __nv_ldexpf(float a, int b) { return ldexpf(a, b); }
double __nv_ldexp(double a, int b) { return ldexp(a, b); }
int __nv_isnanf(float a) { return a != a; }
int __nv_isnand(double a) { return a != a; }
int __nv_isinff(float a) { return __builtin_isinf(a) != 0; }
int __nv_isinfd(double a) { return __builtin_isinf(a) != 0; }
int __nv_finitef(float a) { return __builtin_isfinite(a); }
int __nv_signbitf(float a) { return __builtin_signbit(a) != 0; }
void __nv_sincosf(float a, float *s, float *c) { *s = sinf(a), *c = cosf(a); }

float __nv_fast_expf(float a) { return expf(a); }
float __nv_fast_exp10f(float a) { return exp10f(a); }
float __nv_fast_logf(float a) { return logf(a); }
float __nv_fast_log2f(float a) { return log2f(a); }
float __nv_fast_log10f(float a) { return log10f(a); }
float __nv_fast_powf(float a, float b) { return powf(a, b); }
float __nv_fast_sinf(float a) { return sinf(a); }
float __nv_fast_cosf(float a) { return cosf(a); }
float __nv_fast_tanf(float a) { return tanf(a); }
float __nv_fast_tanhf(float a) { return tanhf(a); }
float __nv_fast_fdividef(float a, float b) { return a / b; }
float __nv_saturatef(float a) { return a > 0 ? (a < 1 ? a : 1) : 0; }

float nvvm_fabs_f(float a) { return fabsf(a); }
float nvvm_fmax_f(float a, float b) { return fmaxf(a, b); }
float nvvm_fmin_f(float a, float b) { return fminf(a, b); }
float nvvm_fmax_ftz_f(float a, float b) { return fmaxf(a, b); }
float nvvm_fmin_ftz_f(float a, float b) { return fminf(a, b); }
float nvvm_fmax_nan_f(float a, float b) { return a != a || b != b ? NAN : fmaxf(a, b); }
float nvvm_fmin_nan_f(float a, float b) { return a != a || b != b ? NAN : fminf(a, b); }
double nvvm_fmax_d(double a, double b) { return fmax(a, b); }
double nvvm_fmin_d(double a, double b) { return fmin(a, b); }
float nvvm_floor_f(float a) { return floorf(a); }
float nvvm_ceil_f(float a) { return ceilf(a); }
float nvvm_saturate_f(float a) { return __nv_saturatef(a); }
float nvvm_round_f(float a) { return rintf(a); }

/* Conversions to integers saturate, and take NaN to 0. */
#define TO_INTEGER(name, type, from, low, high, rounded)                                                               \
  type name(from a) { return a != a ? 0 : rounded <= low ? (type)low : rounded >= high ? (type)high : (type)rounded; }
#define INTEGERS(mode, libdevice, f, d)                                                                                \
  TO_INTEGER(nvvm_f2i_##mode, int32_t, float, -2147483648.0, 2147483647.0, (double)f(a))                               \
  TO_INTEGER(nvvm_d2i_##mode, int32_t, double, -2147483648.0, 2147483647.0, d(a))                                      \
  TO_INTEGER(nvvm_f2ui_##mode, uint32_t, float, 0.0, 4294967295.0, (double)f(a))                                       \
  TO_INTEGER(__nv_float2int_##libdevice, int32_t, float, -2147483648.0, 2147483647.0, (double)f(a))                    \
  TO_INTEGER(__nv_float2uint_##libdevice, uint32_t, float, 0.0, 4294967295.0, (double)f(a))
INTEGERS(rn, rn, rintf, rint)
INTEGERS(rz, rz, truncf, trunc)
INTEGERS(rm, rd, floorf, floor)
INTEGERS(rp, ru, ceilf, ceil)
float nvvm_i2f_rn(int32_t a) { return a; }
float nvvm_ui2f_rn(uint32_t a) { return a; }
double nvvm_i2d_rn(int32_t a) { return a; }
float __nv_int2float_rn(int32_t a) { return a; }
float __nv_uint2float_rn(uint32_t a) { return a; }

int32_t nvvm_mulhi_i(int32_t a, int32_t b) { return ((int64_t)a * b) >> 32; }
uint32_t nvvm_mulhi_ui(uint32_t a, uint32_t b) { return ((uint64_t)a * b) >> 32; }
uint64_t nvvm_mulhi_ull(uint64_t a, uint64_t b) { return ((unsigned __int128)a * b) >> 64; }
int32_t __nv_mulhi(int32_t a, int32_t b) { return nvvm_mulhi_i(a, b); }
uint32_t __nv_umulhi(uint32_t a, uint32_t b) { return nvvm_mulhi_ui(a, b); }
uint64_t __nv_umul64hi(uint64_t a, uint64_t b) { return nvvm_mulhi_ull(a, b); }
int __nv_popc(uint32_t a) { return __builtin_popcount(a); }
int __nv_popcll(uint64_t a) { return __builtin_popcountll(a); }
int __nv_clz(uint32_t a) { return a ? __builtin_clz(a) : 32; }
int __nv_ffs(uint32_t a) { return __builtin_ffs(a); }
uint32_t __nv_brev(uint32_t a) { return __builtin_bitreverse32(a); }
int __nv_min(int a, int b) { return a < b ? a : b; }
int __nv_max(int a, int b) { return a > b ? a : b; }
uint32_t __nv_umin(uint32_t a, uint32_t b) { return a < b ? a : b; }
uint32_t __nv_umax(uint32_t a, uint32_t b) { return a > b ? a : b; }
int __nv_abs(int a) { return a < 0 ? -a : a; }
uint32_t __nv_float_as_uint(float a) { return p3dBits(a); }
int32_t __nv_float_as_int(float a) { return p3dBits(a); }
float __nv_uint_as_float(uint32_t a) { return p3dFloat(a); }
float __nv_int_as_float(int32_t a) { return p3dFloat(a); }
int32_t nvvm_bitcast_f2i(float a) { return p3dBits(a); }
float nvvm_bitcast_i2f(int32_t a) { return p3dFloat(a); }

/* Four bytes of the eight of b:a chosen by the nibbles of the selector; bit 3 of a nibble copies the byte's sign. */
uint32_t nvvm_prmt(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = (uint64_t)b << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t nibble = selector >> (4 * i), byte = (bytes >> (8 * (nibble & 7))) & 0xff;
    if (nibble & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}
