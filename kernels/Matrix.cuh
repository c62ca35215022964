// Matrix products of a warp on tiles in shared memory, and asynchronous copies into them.
//
// Accumulators are in the layout of mma.sync m16n8: with g = lane / 4 and t = lane % 4, c[0] and c[1] are columns 2t
// and 2t + 1 of row g, c[2] and c[3] those of row g + 8. In bf16 and f16 products run on the tensor cores (m16n8k16,
// f32 sums), with operands by ldmatrix. f32 keeps the same layout and uses plain fused multiply-adds (no TF32), so that
// a kernel is written once. The portable forms of mma and ldmatrix take the same
// registers from the same lanes: a wrong layout gives wrong numbers on the emulator too.
#pragma once
#include "kernels/Element.cuh"

namespace p3d {

// ---- mma and ldmatrix
// -------------------------------------------------------------------------------------------------

#ifdef P3D_PORTABLE
/// Registers of the lanes of a warp, for all lanes to read between two barriers of the warp: a cheaper way on a host
/// than many shuffles. For blocks of four warps.
struct LaneRegisters {
  uint32_t words[warpThreads][6];
};
P3D_DEVICE LaneRegisters &laneRegisters() {
  P3D_SHARED LaneRegisters warps[4];
  if (warpIndex() >= 4)
    __builtin_trap();
  return warps[warpIndex()];
}

/// c[16][8] += a[16][16] b[16][8]. a: (row g, k 2t..), (row g + 8, k 2t..), (row g, k 2t + 8..), (row g + 8, k 2t
/// + 8..); b: (k 2t.., column g), (k 2t + 8.., column g); two elements each, the first in the low half.
template <typename T> P3D_DEVICE void multiplyAdd(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  auto low = [](uint32_t pair) { return toFloat(T{static_cast<uint16_t>(pair)}); };
  auto high = [](uint32_t pair) { return toFloat(T{static_cast<uint16_t>(pair >> 16)}); };
  LaneRegisters &registers = laneRegisters();
  for (int i = 0; i < 4; ++i)
    registers.words[laneIndex()][i] = a[i];
  registers.words[laneIndex()][4] = b0;
  registers.words[laneIndex()][5] = b1;
  warpBarrier();
  int t = laneIndex() % 4;
  for (int pair = 0; pair < 8; ++pair) { // k = 2 * pair and the next
    int holder = laneIndex() - t + pair % 4, upper = pair / 4;
    uint32_t top = registers.words[holder][2 * upper], bottom = registers.words[holder][2 * upper + 1];
    for (int column = 0; column < 2; ++column) {
      uint32_t right = registers.words[(2 * t + column) * 4 + pair % 4][4 + upper];
      c[column] += low(top) * low(right) + high(top) * high(right);
      c[2 + column] += low(bottom) * low(right) + high(bottom) * high(right);
    }
  }
  warpBarrier(); // read by all
}

/// Four 8x8 matrices of 16-bit elements: lane i gives the place of row i % 8 of matrix i / 8, 16 bytes in shared
/// memory, and receives elements 2t and 2t + 1 of row g of each matrix; transposed: of column g.
template <bool transposed> P3D_DEVICE void loadMatrices(uint32_t (&matrices)[4], const void *row) {
  auto address = reinterpret_cast<uintptr_t>(row);
  LaneRegisters &registers = laneRegisters();
  registers.words[laneIndex()][0] = static_cast<uint32_t>(address);
  registers.words[laneIndex()][1] = static_cast<uint32_t>(address >> 32);
  warpBarrier();
  auto rowAt = [&](int lane) {
    auto upper = static_cast<uintptr_t>(registers.words[lane][1]) << 32;
    return reinterpret_cast<const uint16_t *>(upper | registers.words[lane][0]);
  };
  int g = laneIndex() / 4, t = laneIndex() % 4;
  for (int m = 0; m < 4; ++m) {
    uint32_t first = rowAt(8 * m + (transposed ? 2 * t : g))[transposed ? g : 2 * t];
    uint32_t second = rowAt(8 * m + (transposed ? 2 * t + 1 : g))[transposed ? g : 2 * t + 1];
    matrices[m] = second << 16 | first;
  }
  warpBarrier(); // read by all
}
#else
template <typename T> P3D_DEVICE void multiplyAdd(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <> P3D_DEVICE void multiplyAdd<Bf16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <> P3D_DEVICE void multiplyAdd<F16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

P3D_DEVICE uint32_t sharedAddress(const void *pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
template <bool transposed> P3D_DEVICE void loadMatrices(uint32_t (&matrices)[4], const void *row) {
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(sharedAddress(row))
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(sharedAddress(row))
                 : "memory");
}
#endif

// ---- Asynchronous copies
// ----------------------------------------------------------------------------------------------

/// Copies of 16 bytes from global to shared memory, in groups: what a thread has issued is there after it waited for
/// the group, for other threads after the next barrier.
class CopyQueue {
public:
#ifdef P3D_PORTABLE
  /// Fills `to` with zeros unless `exists`. Nothing is copied before it is waited for, so that a missing wait shows.
  P3D_DEVICE void copy(Chunk *to, const void *from, bool exists) {
    if (count == capacity)
      __builtin_trap();
    pending[count++] = {to, exists ? static_cast<const Chunk *>(from) : nullptr, 0};
  }
  P3D_DEVICE void commit() {
    for (; grouped < count; ++grouped)
      pending[grouped].group = groups;
    ++groups;
  }
  /// Until all but the newest `newer` groups have arrived.
  template <int newer> P3D_DEVICE void wait() {
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      Copy &copy = pending[i];
      if (i >= grouped || copy.group >= groups - newer)
        pending[kept++] = copy;
      else
        *copy.to = copy.from ? *copy.from : Chunk{};
    }
    grouped -= count - kept;
    count = kept;
  }

private:
  struct Copy {
    Chunk *to;
    const Chunk *from;
    int group;
  };
  static constexpr int capacity = 160;
  Copy pending[capacity];
  int count = 0, grouped = 0, groups = 0;
#else
  P3D_DEVICE void copy(Chunk *to, const void *from, bool exists) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(sharedAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(exists ? 16 : 0)
                 : "memory");
  }
  P3D_DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int newer> P3D_DEVICE void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(newer) : "memory"); }
#endif
};

// ---- Tiles
// -------------------------------------------------------------------------------------------------------------

/// Rows of `width` elements in shared memory. The chunks of a row are permuted by its number, so that eight rows of one
/// column of chunks lie in different banks.
template <typename T, int width> struct Tile {
  static constexpr int rowChunks = width / chunkSize<T>;
  static_assert(rowChunks >= 4, "rows of 64 bytes at least");
  Chunk *base;

  P3D_DEVICE Chunk *at(int row, int chunk) const {
    int swizzle = rowChunks >= 8 ? row & 7 : row / 2 & 3;
    // chunk ^ swizzle, cut so that a constant row and an even constant part of `chunk` leave a constant offset
    return base + row * rowChunks + ((chunk & ~1) ^ (swizzle & ~1)) + ((chunk ^ swizzle) & 1);
  }

  /// Fills `rows` rows; those at or beyond `existing` and columns at or beyond `columns` become 0. Row r of `from` is
  /// `stride` elements apart; `aligned`: rows begin at multiples of 16 bytes and `columns` is a multiple of a chunk.
  template <int rows, int threads>
  P3D_DEVICE void load(CopyQueue &queue, const T *from, int64_t stride, int existing, int columns, bool aligned) const {
    static_assert(threads % rowChunks == 0, "a thread stays in its column of chunks");
    constexpr int step = threads / rowChunks;
    const int firstRow = static_cast<unsigned>(threadIndex()) / rowChunks, chunk = threadIndex() % rowChunks;
    const int count = columns - chunk * chunkSize<T>; // of this thread's column of chunks
    const T *place = from + firstRow * stride + chunk * chunkSize<T>;
    if (!aligned) {
      P3D_NO_UNROLL
      for (int row = firstRow; row < rows; row += step, place += step * stride)
        *at(row, chunk) = row < existing && count > 0 ? gathered(place, count) : Chunk{};
      return;
    }
    P3D_UNROLL
    for (int i = 0; i < (rows + step - 1) / step; ++i, place += step * stride) {
      int row = firstRow + i * step;
      bool exists = row < existing && count > 0;
      if (rows % step == 0 || row < rows)
        queue.copy(at(row, chunk), exists ? place : from, exists);
    }
  }

private:
  static P3D_DEVICE Chunk gathered(const T *from, int count) {
    float values[chunkSize<T>];
    loadChunk(from, count, false, values);
    return pack(values, T());
  }
};

// ---- Products of a warp: 16 * m rows at a time
// -------------------------------------------------------------------------

template <int m, int n, int width, typename T>
P3D_DEVICE void multiplyTransposedOnTensorCores(float (&c)[m][n / 8][4], Tile<T, width> a, int firstRow,
                                                Tile<T, width> b) {
  int matrix = laneIndex() / 8, rowInMatrix = laneIndex() % 8;
  P3D_UNROLL
  for (int k = 0; k < width / 16; ++k) {
    uint32_t left[m][4];
    P3D_UNROLL
    for (int i = 0; i < m; ++i)
      loadMatrices<false>(left[i], a.at(firstRow + 16 * i + matrix % 2 * 8 + rowInMatrix, 2 * k + matrix / 2));
    P3D_UNROLL
    for (int j = 0; j < n / 16; ++j) {
      uint32_t right[4];
      loadMatrices<false>(right, b.at(16 * j + matrix / 2 * 8 + rowInMatrix, 2 * k + matrix % 2));
      P3D_UNROLL
      for (int i = 0; i < m; ++i) {
        multiplyAdd<T>(c[i][2 * j], left[i], right[0], right[1]);
        multiplyAdd<T>(c[i][2 * j + 1], left[i], right[2], right[3]);
      }
    }
  }
}
template <int m, int n, int width>
P3D_DEVICE void multiplyTransposedInF32(float (&c)[m][n / 8][4], Tile<float, width> a, int firstRow,
                                        Tile<float, width> b) {
  int g = laneIndex() / 4, t = laneIndex() % 4;
  P3D_NO_UNROLL
  for (int k = 0; k < width / 4; ++k) {
    float left[2 * m][4];
    P3D_UNROLL
    for (int i = 0; i < 2 * m; ++i)
      unpack(*a.at(firstRow + 8 * i + g, k), left[i], 0.f);
    P3D_UNROLL
    for (int j = 0; j < n / 8; ++j)
      P3D_UNROLL
    for (int column = 0; column < 2; ++column) {
      float right[4];
      unpack(*b.at(8 * j + 2 * t + column, k), right, 0.f);
      P3D_UNROLL
      for (int i = 0; i < 2 * m; ++i)
        P3D_UNROLL
      for (int e = 0; e < 4; ++e) {
        float &sum = c[i / 2][j][i % 2 * 2 + column];
        sum = fusedMultiplyAdd(left[i][e], right[e], sum);
      }
    }
  }
}

template <int m, int n, int width, typename T>
P3D_DEVICE void multiplyOnTensorCores(float (&c)[m][width / 8][4], const float (&p)[m][n / 8][4], Tile<T, width> b) {
  int matrix = laneIndex() / 8, rowInMatrix = laneIndex() % 8;
  P3D_UNROLL
  for (int k = 0; k < n / 16; ++k) {
    uint32_t left[m][4]; // two accumulators side by side are the left operand of the next product
    P3D_UNROLL
    for (int i = 0; i < m; ++i) {
      left[i][0] = packPair<T>(p[i][2 * k][0], p[i][2 * k][1]);
      left[i][1] = packPair<T>(p[i][2 * k][2], p[i][2 * k][3]);
      left[i][2] = packPair<T>(p[i][2 * k + 1][0], p[i][2 * k + 1][1]);
      left[i][3] = packPair<T>(p[i][2 * k + 1][2], p[i][2 * k + 1][3]);
    }
    P3D_UNROLL
    for (int j = 0; j < width / 16; ++j) {
      uint32_t right[4];
      loadMatrices<true>(right, b.at(16 * k + matrix % 2 * 8 + rowInMatrix, 2 * j + matrix / 2));
      P3D_UNROLL
      for (int i = 0; i < m; ++i) {
        multiplyAdd<T>(c[i][2 * j], left[i], right[0], right[1]);
        multiplyAdd<T>(c[i][2 * j + 1], left[i], right[2], right[3]);
      }
    }
  }
}
template <int m, int n, int width>
P3D_DEVICE void multiplyInF32(float (&c)[m][width / 8][4], const float (&p)[m][n / 8][4], Tile<float, width> b) {
  int t = laneIndex() % 4, quad = laneIndex() - t;
  P3D_UNROLL
  for (int k = 0; k < n; ++k) {
    int holder = quad + k % 8 / 2; // of column k of p in this lane's rows
    float left[2 * m];
    P3D_UNROLL
    for (int i = 0; i < 2 * m; ++i)
      left[i] = fromBits(shuffle(toBits(p[i / 2][k / 8][i % 2 * 2 + k % 2]), holder));
    P3D_UNROLL
    for (int j = 0; j < width / 8; ++j) {
      const Chunk &right = *b.at(k, 2 * j + t / 2);
      P3D_UNROLL
      for (int column = 0; column < 2; ++column)
        P3D_UNROLL
      for (int i = 0; i < 2 * m; ++i) {
        float &sum = c[i / 2][j][i % 2 * 2 + column];
        sum = fusedMultiplyAdd(left[i], fromBits(right.words[t % 2 * 2 + column]), sum);
      }
    }
  }
}

/// c[16 m][n] += a[rows firstRow..][width] b[n][width]^T.
template <int m, int n, int width, typename T>
P3D_DEVICE void multiplyTransposed(float (&c)[m][n / 8][4], Tile<T, width> a, int firstRow, Tile<T, width> b) {
  if constexpr (sizeof(T) == 4)
    multiplyTransposedInF32<m, n>(c, a, firstRow, b);
  else
    multiplyTransposedOnTensorCores<m, n>(c, a, firstRow, b);
}

/// c[16 m][width] += p[16 m][n] b[n][width]; p in the layout of accumulators, rounded to T.
template <int m, int n, int width, typename T>
P3D_DEVICE void multiply(float (&c)[m][width / 8][4], const float (&p)[m][n / 8][4], Tile<T, width> b) {
  if constexpr (sizeof(T) == 4)
    multiplyInF32<m, n>(c, p, b);
  else
    multiplyOnTensorCores<m, n>(c, p, b);
}

} // namespace p3d
