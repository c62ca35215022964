// The tiles of attention's kernels, known to launchers and kernels. A block of four warps holds 64 * m rows and streams
// tiles of n rows of the other operands past them, in two buffers. Sizes keep accumulators within 255 registers and the
// block within the 99 KB of shared memory that every device since sm_80 has.
#pragma once
#include <stdint.h>

namespace p3d {

struct AttentionTiling {
  int m, n;
  constexpr int rows() const { return 64 * m; }
  /// Two tensors stay (one in the forward pass), two are streamed.
  constexpr int sharedBytes(int held, int head, int elementBytes) const {
    return (held * rows() + 4 * n) * head * elementBytes;
  }
};

constexpr int attentionThreads = 128;
/// Heads are padded to 32, 64 or 128 columns; larger ones have no kernel.
constexpr int paddedHead(int64_t d) { return d <= 32 ? 32 : d <= 64 ? 64 : 128; }
constexpr int largestHead = 128;

constexpr AttentionTiling forwardTiling(int head, int elementBytes) {
  if (elementBytes == 4)
    return {1, head == 128 ? 8 : 32};
  return {head == 64 ? 2 : 1, head == 64 ? 48 : 64};
}
/// Of the kernels for dq and for dk and dv.
constexpr AttentionTiling gradTiling(int head, int elementBytes) {
  if (elementBytes == 4)
    return {1, head == 128 ? 8 : 32};
  return {1, head == 64 ? 64 : 32};
}
/// Whether dk and dv are made by different blocks (even and odd ones), as the registers do not hold the sums of both.
constexpr bool isKeyGradSplit(int head, int elementBytes) { return head == 128 && elementBytes == 4; }

} // namespace p3d
