// One einsum as matrix products. Operands that the BLAS can read where they lie (f32, one unit stride) are not copied;
// others are packed block by block into f32 tiles. C is summed in f32, in place where it is f32 with a unit stride,
// else in a tile that is rounded once after all products that add to it.
#include "kernels/cpu/EinsumPlan.h"
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"
#include <algorithm>
#include <cstring>
#include <vector>

using namespace p3d;

namespace {

constexpr int64_t blasLimit = int64_t(1) << 30; // extents and strides the BLAS' 32-bit integers take
constexpr int64_t leastProducts = int64_t(1) << 22; // multiplications that are worth a thread
constexpr int64_t manyLoops = 8;                    // kept loops that are enough for the threads
constexpr int64_t tileRows = 512, tileCols = 1024, tileDepth = 1024; // of packed products: f32 tiles of 2 to 4 MB

/// A strided matrix in memory.
struct Operand {
  int32_t dtype;
  const void *data;
  int64_t rowStride, colStride;

  /// From `elements` further on.
  Operand after(int64_t elements) const { return {dtype, offset(dtype, data, elements), rowStride, colStride}; }
};

/// Whether the BLAS takes f32 rows of `cols` elements that begin `rowStride` apart.
bool isRowMajor(int64_t rows, int64_t cols, int64_t rowStride, int64_t colStride) {
  return (colStride == 1 || cols == 1) && (rowStride >= cols || rows == 1) && rowStride < blasLimit;
}
int64_t legalStride(int64_t rowStride, int64_t rows, int64_t cols) {
  return rows == 1 ? std::max<int64_t>(cols, 1) : rowStride;
}

bool isDirect(const Operand &x, int64_t rows, int64_t cols) {
  return x.dtype == P3D_F32 &&
         (isRowMajor(rows, cols, x.rowStride, x.colStride) || isRowMajor(cols, rows, x.colStride, x.rowStride));
}

Matrix directMatrix(const Operand &x, int64_t rows, int64_t cols) {
  const float *data = static_cast<const float *>(x.data);
  if (isRowMajor(rows, cols, x.rowStride, x.colStride))
    return {data, legalStride(x.rowStride, rows, cols), false};
  return {data, legalStride(x.colStride, cols, rows), true};
}

template <typename Bits> void copyStrided(const Bits *src, int64_t stride, Bits *dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dst[i] = src[i * stride];
}

/// `count` elements `stride` apart, as f32.
void widenStrided(int32_t dtype, const void *src, int64_t stride, float *dst, int64_t count) {
  if (stride == 1)
    return widen(dtype, src, dst, count);
  if (dtype == P3D_F32)
    return copyStrided(static_cast<const float *>(src), stride, dst, count);
  uint16_t dense[tileDepth];
  for (int64_t begin = 0; begin < count; begin += tileDepth) {
    int64_t size = std::min(tileDepth, count - begin);
    copyStrided(static_cast<const uint16_t *>(src) + begin * stride, stride, dense, size);
    widen(dtype, dense, dst + begin, size);
  }
}

/// A tile of f32, kept from call to call of this thread.
class Tile {
public:
  float *data(int64_t size) {
    if (static_cast<int64_t>(storage.size()) < size)
      storage.resize(size);
    return storage.data();
  }

private:
  std::vector<float> storage;
};

/// x[rows][cols] as a dense tile; read along its smaller stride, and so transposed where that is the rows'.
Matrix pack(const Operand &x, int64_t rows, int64_t cols, Tile &tile) {
  float *to = tile.data(rows * cols);
  bool transposed = rows > 1 && (cols == 1 || x.rowStride < x.colStride);
  int64_t lines = transposed ? cols : rows, length = transposed ? rows : cols;
  int64_t lineStride = transposed ? x.colStride : x.rowStride, stride = transposed ? x.rowStride : x.colStride;
  Matrix packed = {to, std::max<int64_t>(length, 1), transposed};
  if (stride == 1 && lineStride == length) { // dense already: small matrices would pay for a call per line
    widen(x.dtype, x.data, to, lines * length);
    return packed;
  }
  for (int64_t line = 0; line < lines; ++line)
    widenStrided(x.dtype, offset(x.dtype, x.data, line * lineStride), stride, to + line * length, length);
  return packed;
}

/// The tile of one result: where it is summed, and how it gets into C.
class Einsum {
public:
  Einsum(const EinsumLoops &e, int32_t dtype, int32_t cDtype, const void *a, const void *b, void *c, bool accumulate)
      : e(e), a{dtype, a, e.aM, e.aK}, b{dtype, b, e.bK, e.bN}, c(c), cDtype(cDtype), accumulate(accumulate),
        aDirect(isDirect(this->a, e.m, e.k)), bDirect(isDirect(this->b, e.k, e.n)) {
    cDirect = cDtype == P3D_F32 && isRowMajor(e.m, e.n, e.cM, e.cN);
    bool whole = aDirect && bDirect;
    rowsPerTile = whole && cDirect ? blasLimit : tileRows;
    colsPerTile = whole && cDirect ? blasLimit : tileCols;
    depthPerTile = whole ? blasLimit : tileDepth;
    if (whole && cDirect)
      cutIntoPanels();
  }

  void run() {
    int64_t tilesOfRows = (e.m + rowsPerTile - 1) / rowsPerTile, tilesOfCols = (e.n + colsPerTile - 1) / colsPerTile;
    int64_t tiles = tilesOfRows * tilesOfCols, each = std::max<int64_t>(1, products() / std::max<int64_t>(1, tiles));
    parallelFor(e.kept.size() * tiles, std::max<int64_t>(1, leastProducts / each), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = i % tilesOfRows * rowsPerTile, col = i % tiles / tilesOfRows * colsPerTile;
        computeTile(e.kept.at(i / tiles), row, std::min(rowsPerTile, e.m - row), col, std::min(colsPerTile, e.n - col));
      }
    });
  }

private:
  /// Multiplications of one index of the kept loops.
  int64_t products() const { return e.m * e.n * std::max<int64_t>(1, e.k * e.summed.size()); }

  /// Cuts C into panels, one call of the BLAS each. They follow from sizes alone: in which order the BLAS sums an element
  /// depends on where it lies in a panel. Large ones, for each call packs its part of both operands; an even number of them.
  void cutIntoPanels() {
    constexpr int64_t multiple = 64, longest = 2048;
    if (products() < 2 * leastProducts || e.kept.size() >= manyLoops || e.m == 1 || e.n == 1)
      return;
    auto evenCuts = [](int64_t extent) { return extent > longest ? (extent + 2 * longest - 1) / (2 * longest) * 2 : 1; };
    int64_t rowCuts = evenCuts(e.m), colCuts = evenCuts(e.n);
    if (rowCuts * colCuts == 1)
      (e.m >= e.n ? rowCuts : colCuts) = 2;
    rowsPerTile = (e.m + rowCuts * multiple - 1) / (rowCuts * multiple) * multiple;
    colsPerTile = (e.n + colCuts * multiple - 1) / (colCuts * multiple) * multiple;
  }

  void computeTile(LoopNest::Offsets at, int64_t row, int64_t rows, int64_t col, int64_t cols) {
    static thread_local Tile result;
    int64_t place = at.c + row * e.cM + col * e.cN;
    float *sum = cDirect ? static_cast<float *>(c) + place : result.data(rows * cols);
    int64_t stride = cDirect ? legalStride(e.cM, rows, cols) : cols;
    float beta = cDirect && accumulate ? 1.f : 0.f;
    if (e.summed.isEmpty() || e.k == 0)
      clear(sum, rows, cols, stride, beta);
    else
      e.summed.forEach([&](LoopNest::Offsets more) {
        Operand left = a.after(at.a + more.a + row * e.aM), right = b.after(at.b + more.b + col * e.bN);
        addProduct(left, right, rows, cols, beta, sum, stride);
        beta = 1.f;
      });
    if (!cDirect)
      store(sum, place, rows, cols);
  }

  static void clear(float *sum, int64_t rows, int64_t cols, int64_t stride, float beta) {
    for (int64_t r = 0; beta == 0.f && r < rows; ++r)
      std::fill_n(sum + r * stride, cols, 0.f);
  }

  void addProduct(const Operand &left, const Operand &right, int64_t rows, int64_t cols, float beta, float *sum,
                  int64_t stride) {
    static thread_local Tile leftTile, rightTile;
    for (int64_t k = 0; k < e.k; k += depthPerTile) {
      int64_t depth = std::min(depthPerTile, e.k - k);
      Operand leftBlock = left.after(k * e.aK), rightBlock = right.after(k * e.bK);
      Matrix x = aDirect ? directMatrix(leftBlock, rows, depth) : pack(leftBlock, rows, depth, leftTile);
      Matrix y = bDirect ? directMatrix(rightBlock, depth, cols) : pack(rightBlock, depth, cols, rightTile);
      gemm(rows, cols, depth, 1.f, x, y, k == 0 ? beta : 1.f, sum, stride);
    }
  }

  /// Rounds the summed tile into C, adding what C holds first where it accumulates.
  void store(float *sum, int64_t place, int64_t rows, int64_t cols) const {
    if (e.cN == 1 && e.cM == cols) // dense: one line
      return storeLine(sum, place, 1, rows * cols);
    if (cols == 1)
      return storeLine(sum, place, e.cM, rows);
    for (int64_t r = 0; r < rows; ++r)
      storeLine(sum + r * cols, place + r * e.cM, e.cN, cols);
  }

  void storeLine(float *sum, int64_t place, int64_t stride, int64_t length) const {
    void *to = offset(cDtype, c, place);
    if (accumulate) {
      static thread_local Tile tile;
      float *held = tile.data(length);
      widenStrided(cDtype, to, stride, held, length);
      for (int64_t i = 0; i < length; ++i)
        sum[i] += held[i];
    }
    if (stride == 1)
      return narrow(cDtype, sum, to, length);
    for (int64_t i = 0; i < length; ++i)
      narrow(cDtype, sum + i, offset(cDtype, c, place + i * stride), 1);
  }

  const EinsumLoops &e;
  Operand a, b;
  void *c;
  int32_t cDtype;
  bool accumulate, aDirect, bDirect, cDirect;
  int64_t rowsPerTile, colsPerTile, depthPerTile;
};

/// (A B)^T = B^T A^T: the same result with its dimensions exchanged.
EinsumLoops transpose(const EinsumLoops &e) {
  EinsumLoops t = {e.kept, e.summed, e.n, e.m, e.k, e.bN, e.bK, e.aK, e.aM, e.cN, e.cM};
  for (LoopNest *nest : {&t.kept, &t.summed})
    for (int32_t l = 0; l < nest->count; ++l)
      std::swap(nest->loops[l].a, nest->loops[l].b);
  return t;
}

} // namespace

void p3d_einsum(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b, void *c,
                int32_t accumulate) {
  EinsumLoops e = absorbLoops(*plan);
  bool isTransposed = e.cM == 1 && e.cN != 1 && e.n != 1;
  if (isTransposed)
    std::swap(a, b), e = transpose(e);
  Einsum(e, dtype, cDtype, a, b, c, accumulate != 0).run();
}
