// Kernels that follow indices: gather, scatter_add, top_k, sort.
#include "kernels/reference/Reference.h"
#include "test/kernels/Tensor.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace p3dtest;

namespace {
struct IndexCase {
  int64_t b, o, n, i, inner, start;
};
// One dimension whole and as a shard, repeated ids (i much larger than n), batches, several outer rows, inner of one.
const std::vector<IndexCase> cases = {{1, 1, 7, 5, 3, -1},  {1, 1, 7, 40, 5, 7},    {2, 3, 5, 9, 1, -1},
                                      {3, 2, 4, 11, 33, 8}, {1, 1, 1, 300, 64, -1}, {2, 1, 6, 0, 4, -1}};
} // namespace

/// Ids inside, before and beyond the dimension.
static std::vector<int64_t> idsFor(const IndexCase &c, bool isUnsigned) {
  std::vector<int64_t> ids(c.b * c.i);
  for (size_t at = 0; at < ids.size(); ++at) {
    ids[at] = static_cast<int64_t>(at * 7 + at * at) % (2 * c.n + 3) + std::max<int64_t>(c.start, 0) - 2;
    if (isUnsigned)
      ids[at] = std::max<int64_t>(ids[at], 0);
  }
  return ids;
}

/// The same ids as their type holds them.
static Buffer<unsigned char> idBytes(const std::vector<int64_t> &ids, int32_t idDtype) {
  Buffer<unsigned char> bytes;
  for (int64_t id : ids) {
    const auto *from = reinterpret_cast<const unsigned char *>(&id);
    bytes.insert(bytes.end(), from, from + (idDtype == P3D_I64 ? 8 : 4)); // little-endian
  }
  return bytes;
}

TEST(Gather, MatchesReference) {
  for (int32_t dtype : floatTypes)
    for (int32_t idDtype : {P3D_I32, P3D_I64, P3D_UI32})
      for (const IndexCase &c : cases) {
        std::vector<int64_t> ids = idsFor(c, idDtype == P3D_UI32);
        Tensor x(dtype, skewed(c.b * c.o * c.n * c.inner, 21)), out(dtype, c.b * c.o * c.i * c.inner);
        p3d_gather(dtype == P3D_F32 ? 4 : 2, idDtype, x.data(), idBytes(ids, idDtype).data(), out.data(), c.b, c.o, c.n,
                   c.i, c.inner, c.start);
        std::vector<double> want(c.b * c.o * c.i * c.inner);
        reference::gather(x.values().data(), ids.data(), want.data(), c.b, c.o, c.n, c.i, c.inner, c.start);
        EXPECT_EQ(out.values(), want) << nameOf(dtype) << " ids " << idDtype;
      }
}

TEST(ScatterAdd, MatchesReference) {
  for (int32_t dtype : floatTypes)
    for (int32_t xDtype : {int32_t(P3D_F32), dtype})
      for (int32_t idDtype : {P3D_I32, P3D_I64, P3D_UI32})
        for (bool accumulate : {false, true})
          for (const IndexCase &c : cases) {
            std::vector<int64_t> ids = idsFor(c, idDtype == P3D_UI32);
            Tensor updates(dtype, skewed(c.b * c.o * c.i * c.inner, 22)),
                x(xDtype, skewed(c.b * c.o * c.n * c.inner, 23));
            std::vector<double> want = x.values();
            p3d_scatter_add(dtype, xDtype, idDtype, updates.data(), idBytes(ids, idDtype).data(), x.data(), c.b, c.o,
                            c.n, c.i, c.inner, c.start, accumulate);
            reference::scatterAdd(updates.values().data(), ids.data(), want.data(), c.b, c.o, c.n, c.i, c.inner,
                                  c.start, accumulate);
            expectClose(x.values(), want, xDtype, "scatter_add");
          }
}

// Small integers in bf16, so that many values are equal; a NaN and an infinity.
static Tensor withTies(int32_t dtype, int64_t rows, int64_t cols) {
  std::vector<double> x = skewed(rows * cols, 24, 2);
  for (double &value : x)
    value = std::round(value);
  if (cols > 8) {
    x[3] = NAN;
    x[5] = INFINITY;
    x[6] = -INFINITY;
    x[7] = NAN;
  }
  return {dtype, x};
}

/// Equal as numbers, NaN equal to NaN.
static void expectSame(const std::vector<double> &got, const std::vector<double> &want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i << ": " << got[i];
}

TEST(Sort, IsStable) {
  for (int32_t dtype : floatTypes)
    for (bool descending : {false, true})
      for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {4, 129}}) {
        Tensor x = withTies(dtype, rows, cols), values(dtype, rows * cols);
        Buffer<int32_t> indices(rows * cols), wantIndices(rows * cols);
        std::vector<double> want(rows * cols);
        p3d_sort(dtype, x.data(), values.data(), indices.data(), rows, cols, descending);
        reference::sort(x.values().data(), want.data(), wantIndices.data(), rows, cols, descending);
        expectSame(values.values(), want);
        EXPECT_EQ(indices, wantIndices);
        p3d_sort(dtype, x.data(), values.data(), nullptr, rows, cols, descending);
        expectSame(values.values(), want);
      }
}

// Expert numbers are sorted as integers.
TEST(Sort, TakesIntegers) {
  Buffer<int32_t> x = {3, -1, 3, 0, 2147483647, -2147483647, 0}, values(7), indices(7);
  p3d_sort(P3D_I32, x.data(), values.data(), indices.data(), 1, 7, 0);
  EXPECT_EQ(values, (Buffer<int32_t>{-2147483647, -1, 0, 0, 3, 3, 2147483647}));
  EXPECT_EQ(indices, (Buffer<int32_t>{5, 1, 3, 6, 0, 2, 4}));
}

TEST(Sort, TakesLongAndUnsignedIntegers) {
  Buffer<int64_t> x = {1, INT64_MIN, INT64_MAX, -1, 0}, values(5);
  p3d_sort(P3D_I64, x.data(), values.data(), nullptr, 1, 5, 1);
  EXPECT_EQ(values, (Buffer<int64_t>{INT64_MAX, 1, 0, -1, INT64_MIN}));
  Buffer<uint32_t> y = {1, 0xffffffffu, 0x80000000u, 0}, sorted(4);
  p3d_sort(P3D_UI32, y.data(), sorted.data(), nullptr, 1, 4, 0);
  EXPECT_EQ(sorted, (Buffer<uint32_t>{0, 1, 0x80000000u, 0xffffffffu}));
}

// Zeros of both signs are equal and keep their places and signs.
TEST(Sort, TakesZerosAsEqual) {
  Tensor x(P3D_F32, {0., -0., 1., -0., 0.}), values(P3D_F32, 5);
  Buffer<int32_t> indices(5);
  p3d_sort(P3D_F32, x.data(), values.data(), indices.data(), 1, 5, 0);
  EXPECT_EQ(indices, (Buffer<int32_t>{0, 1, 3, 4, 2}));
  EXPECT_TRUE(std::signbit(values.values()[1]));
}

TEST(TopK, MatchesReference) {
  for (int32_t dtype : floatTypes)
    for (int64_t k : {1, 2, 8}) {
      const int64_t rows = 6, cols = 19;
      Tensor x = withTies(dtype, rows, cols), values(dtype, rows * k);
      Buffer<int32_t> indices(rows * k), wantIndices(rows * k);
      std::vector<double> want(rows * k);
      p3d_top_k(dtype, x.data(), values.data(), indices.data(), rows, cols, k);
      reference::topK(x.values().data(), want.data(), wantIndices.data(), rows, cols, k);
      expectSame(values.values(), want);
      EXPECT_EQ(indices, wantIndices);
    }
}
