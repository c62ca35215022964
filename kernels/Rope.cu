// Rotary position embedding (Su et al. 2021) of x [b,s,h,d] by tables of cosines and sines [s, d/2] in f32: a thread
// turns one pair of elements, (i, i + d/2) as Hugging Face has them or (2i, 2i + 1) as the paper. The gradient is the
// rotation back. Traffic: x and y once; the tables come from the second-level cache. y may be x.
#include "kernels/Element.cuh"

using namespace p3d;

namespace {

template <typename T>
P3D_DEVICE void rope(const T *x, const float *cosines, const float *sines, T *y, int64_t pairs, int s, int h, int half,
                     bool isInterleaved, float direction) {
  for (int64_t at = globalThread(); at < pairs; at += globalThreads()) {
    int i = static_cast<int>(at % half);
    int64_t head = at / half, table = head / h % s * half + i;
    int64_t first = head * 2 * half + (isInterleaved ? 2 * i : i), second = first + (isInterleaved ? 1 : half);
    float c = cosines[table], sn = sines[table] * direction, a = toFloat(x[first]), b = toFloat(x[second]);
    y[first] = fromFloat<T>(a * c - b * sn);
    y[second] = fromFloat<T>(b * c + a * sn);
  }
}

} // namespace

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(256)                                                                                                      \
  p3d_rope_##suffix(const type *x, const float *cosines, const float *sines, type *y, int64_t pairs, int32_t s,        \
                    int32_t h, int32_t half, int32_t isInterleaved, float direction) {                                 \
    rope<type>(x, cosines, sines, y, pairs, s, h, half, isInterleaved != 0, direction);                                \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
