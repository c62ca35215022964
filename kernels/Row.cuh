// A row of a matrix, shared out among the threads of a block: thread i has chunks i, i + threads, ... Its first chunks
// stay in registers, so that several passes over a row read memory once; what is beyond them is read again in each
// pass, from the caches where it fits. A thread touches no other thread's columns: an output may take the place of an
// input, and passes need no barrier.
#pragma once
#include "kernels/Element.cuh"

namespace p3d {

/// A chunk's place in a row: columns [col, col + count).
struct RowPart {
  int col, count;
  bool whole; // a full chunk at an aligned place
};

template <typename T> struct RowLayout {
  int cols;
  bool aligned; // rows begin at multiples of 16 bytes

  P3D_DEVICE RowLayout(const void *base, int cols)
      : cols(cols), aligned(isAligned(base) && static_cast<int64_t>(cols) * sizeof(T) % 16 == 0) {}

  P3D_DEVICE RowPart part(int index) const {
    int col = (threadIndex() + index * threadCount()) * chunkSize<T>;
    int count = cols - col < chunkSize<T> ? cols - col : chunkSize<T>;
    return {col, count, aligned && count == chunkSize<T>};
  }
  P3D_DEVICE int partCount() const { // of this thread
    int chunks = (cols + chunkSize<T> - 1) / chunkSize<T>;
    return threadIndex() < chunks ? (chunks - 1 - threadIndex()) / threadCount() + 1 : 0;
  }
};

/// A row whose first `slots` chunks of each thread are held in registers.
template <typename T, int slots = 4> class HeldRow {
public:
  P3D_DEVICE HeldRow(const T *row, RowLayout<T> layout) : row(row), layout(layout), parts(layout.partCount()) {
    P3D_UNROLL
    for (int s = 0; s < slots; ++s)
      if (s < parts) {
        float values[chunkSize<T>];
        load(s, values);
        held[s] = pack(values, T()); // exact: the values are of type T
      }
  }

  /// Calls body(part, values) for each chunk of this thread, in order.
  template <typename Body> P3D_DEVICE void forEach(const Body &body) const {
    float values[chunkSize<T>];
    P3D_UNROLL
    for (int s = 0; s < slots; ++s)
      if (s < parts) {
        unpack(held[s], values, T());
        body(layout.part(s), values);
      }
    for (int s = slots; s < parts; ++s) {
      load(s, values);
      body(layout.part(s), values);
    }
  }

  /// Calls body(part, values, values of other) for a second row of the same layout.
  template <typename Body> P3D_DEVICE void forEachWith(const HeldRow &other, const Body &body) const {
    float values[chunkSize<T>], others[chunkSize<T>];
    P3D_UNROLL
    for (int s = 0; s < slots; ++s)
      if (s < parts) {
        unpack(held[s], values, T());
        unpack(other.held[s], others, T());
        body(layout.part(s), values, others);
      }
    for (int s = slots; s < parts; ++s) {
      load(s, values);
      other.load(s, others);
      body(layout.part(s), values, others);
    }
  }

private:
  P3D_DEVICE void load(int index, float (&values)[chunkSize<T>]) const {
    RowPart part = layout.part(index);
    loadChunk(row + part.col, part.count, part.whole, values);
  }

  const T *row;
  RowLayout<T> layout;
  int parts;
  Chunk held[slots];
};

} // namespace p3d
