// Launchers of attention and its gradient.
#include "kernels/AttentionTiling.h"
#include "kernels/launch/Launch.h"
#include <cstdlib>

using namespace p3d;

namespace {
/// The sizes of one call, and what the kernels take of them.
struct Call {
  int32_t dtype;
  int64_t b, s, t, h, hk, d;
  p3d_attention_arguments arguments;

  int width() const { return paddedHead(d); }
  int bytes() const { return elementBytes(dtype); }
  std::string kernel(const char *name) const {
    return kernelFor((std::string(name) + "_" + std::to_string(width())).c_str(), dtype);
  }
};
} // namespace

/// Whether a head's mask spans less than 2^31 elements.
static bool fitsMask(const int64_t *stride, int64_t s, int64_t t) {
  return (s - 1) * std::llabs(stride[2]) + (t - 1) * std::llabs(stride[3]) <= INT32_MAX;
}

static bool check(Launch &launch, const char *kernel, const Call &call, const float *mask, const int64_t *maskStride) {
  if (!launch.takes(kernel, call.dtype))
    return false;
  if (call.d > largestHead)
    return launch.refuse(std::string(kernel) + " takes heads of up to " + std::to_string(largestHead) +
                         " columns, but these have " + std::to_string(call.d));
  if (mask && !fitsMask(maskStride, call.s, call.t))
    return launch.refuse(std::string(kernel) + " takes masks of fewer than 2147483648 elements per head");
  return launch.fits(kernel, "queries", call.s * call.h) && launch.fits(kernel, "keys", call.t);
}

static void setMask(Call &call, const float *mask, const int64_t *stride) {
  call.arguments.mask = mask;
  if (!mask)
    return;
  call.arguments.maskStrideBatch = stride[0];
  call.arguments.maskStrideHead = stride[1];
  call.arguments.maskStrideQuery = static_cast<int32_t>(stride[2]);
  call.arguments.maskStrideKey = static_cast<int32_t>(stride[3]);
}

template <typename... Pointers> static bool areAligned(Pointers... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % 16 == 0) && ...);
}

static Call callOf(int32_t dtype, int64_t b, int64_t s, int64_t t, int64_t h, int64_t hk, int64_t d, float scale,
                   int32_t causal, float maskedValue, bool pointersAreAligned) {
  Call call = {dtype, b, s, t, h, hk, d, {}};
  p3d_attention_arguments &x = call.arguments;
  x.s = static_cast<int32_t>(s), x.t = static_cast<int32_t>(t);
  x.h = static_cast<int32_t>(h), x.hk = static_cast<int32_t>(hk), x.d = static_cast<int32_t>(d);
  x.causal = causal, x.scale = scale, x.maskedValue = maskedValue;
  x.aligned = pointersAreAligned && d * elementBytes(dtype) % 16 == 0;
  return call;
}

void p3d_cuda_attention(p3d_launcher *launcher, void *stream, int32_t dtype, const void *q, const void *k,
                        const void *v, const float *mask, const int64_t *maskStride, void *o, float *lse, int64_t b,
                        int64_t s, int64_t t, int64_t h, int64_t hk, int64_t d, float scale, int32_t causal,
                        float maskedValue) {
  Launch launch(launcher, stream);
  Call call = callOf(dtype, b, s, t, h, hk, d, scale, causal, maskedValue, areAligned(q, k, v, o));
  if (!check(launch, "attention", call, mask, maskStride))
    return;
  setMask(call, mask, maskStride);
  AttentionTiling tiling = forwardTiling(call.width(), call.bytes());
  launch.run(call.kernel("p3d_attention"), {ceilDivide(s, tiling.rows()), h, b}, attentionThreads,
             tiling.sharedBytes(1, call.width(), call.bytes()), call.arguments, q, k, v, o, lse);
}

void p3d_cuda_attention_grad(p3d_launcher *launcher, void *stream, int32_t dtype, const void *dO, const void *q,
                             const void *k, const void *v, const float *mask, const int64_t *maskStride, const void *o,
                             const float *lse, void *dq, void *dk, void *dv, int64_t b, int64_t s, int64_t t, int64_t h,
                             int64_t hk, int64_t d, float scale, int32_t causal, float maskedValue) {
  Launch launch(launcher, stream);
  Call call = callOf(dtype, b, s, t, h, hk, d, scale, causal, maskedValue, areAligned(dO, q, k, v, dq, dk, dv));
  if (!check(launch, "attention_grad", call, mask, maskStride))
    return;
  setMask(call, mask, maskStride);
  int64_t rows = b * h * s;
  auto *workspace = static_cast<float *>(launch.workspace(3 * rows * 4));
  launch.run(kernelFor("p3d_attention_grad_rows", dtype), {ceilDivide(rows, 8)}, 256, 0, call.arguments, dO, o, q, k,
             lse, workspace, rows);
  AttentionTiling queryTiling = gradTiling(call.width(), call.bytes());
  launch.run(call.kernel("p3d_attention_grad_query"), {ceilDivide(s, queryTiling.rows()), h, b}, attentionThreads,
             queryTiling.sharedBytes(2, call.width(), call.bytes()), call.arguments, dO, q, k, v, workspace, rows, dq);
  AttentionTiling keyTiling = gradTiling(call.width(), call.bytes());
  int64_t parts = isKeyGradSplit(call.width(), call.bytes()) ? 2 : 1;
  launch.run(call.kernel("p3d_attention_grad_key"), {ceilDivide(t, keyTiling.rows()) * parts, hk, b}, attentionThreads,
             keyTiling.sharedBytes(2, call.width(), call.bytes()), call.arguments, dO, q, k, v, lse, workspace, rows,
             dk, dv);
}
