// Conformance of the collectives of any transport: every one, groups of 1 to 4,
// uneven chunks, every element type; over shared memory both the small way (the
// last to arrive does it) and the large one (every member does its part).
#include "runtime/DType.h"
#include "test/unit/runtime/Elements.h"
#include <gtest/gtest.h>

using namespace p3d;
using namespace p3d::test;

namespace {

constexpr p3d_dtype allDTypes[] = {P3D_F32, P3D_BF16, P3D_F16,  P3D_F64,
                                   P3D_I32, P3D_I64,  P3D_UI32, P3D_UI64,
                                   P3D_I8,  P3D_UI8,  P3D_I16,  P3D_UI16};

class Collectives : public testing::TestWithParam<int> {
protected:
  int size() const { return GetParam(); }
  Mesh mesh() const { return {size(), 1, 1}; }
};
INSTANTIATE_TEST_SUITE_P(Groups, Collectives, testing::Range(1, 5));

TEST_P(Collectives, AllReduceOfEveryType) {
  expectWorld(mesh(), [&](WorldRank &world) {
    for (p3d_dtype dtype : allDTypes)
      for (p3d_reduce_kind kind : {P3D_SUM, P3D_MAX, P3D_MIN}) {
        if (!world.reduces(dtype))
          continue;
        const int64_t count = 77;
        char *data = world.at_<char>(64);
        for (int64_t i = 0; i < count; ++i)
          set(dtype, data, i, valueOf(world.rank, i));
        world.transport.allReduce(P3D_TP, 0, kind, dtype, data, count);
        for (int64_t i = 0; i < count; ++i)
          requireElement(get(dtype, data, i), reduced(kind, size(), i),
                         info(dtype).name, i);
      }
  });
}

TEST_P(Collectives, AllReduceOfBooleansIsLogical) {
  expectWorld(mesh(), [&](WorldRank &world) {
    char *data = world.at_<char>(0);
    for (p3d_reduce_kind kind : {P3D_OR, P3D_SUM, P3D_AND, P3D_PROD}) {
      data[0] = world.rank == size() - 1, data[1] = 1;
      world.transport.allReduce(P3D_TP, 0, kind, P3D_I1, data, 2);
      bool isOr = kind == P3D_OR || kind == P3D_SUM;
      require(data[0] == (isOr || size() == 1) && data[1] == 1, "i1");
    }
  });
}

TEST_P(Collectives, AllGatherOfUnevenChunks) {
  expectWorld(mesh(), [&](WorldRank &world) {
    for (int64_t inner : {int64_t(3), int64_t(20'000)})
      for (int64_t missing : {0, 1, 2}) {
        const int64_t outer = 2, chunk = 3;
        const int64_t full = std::max<int64_t>(chunk * size() - missing, 0);
        int32_t *src = world.at_<int32_t>(0);
        int32_t *dst = world.at_<int32_t>(1 << 20);
        for (int64_t i = 0; i < outer * chunk * inner; ++i)
          src[i] = int32_t(world.rank * 1'000'000 + i);
        world.transport.allGather(P3D_TP, P3D_I32, src, dst, outer, chunk, full,
                                  inner);
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t row = 0; row < full; ++row)
            for (int64_t i = 0; i < inner; ++i)
              requireElement(dst[(o * full + row) * inner + i],
                             double(row / chunk * 1'000'000 +
                                    (o * chunk + row % chunk) * inner + i),
                             "all_gather", (o * full + row) * inner + i);
      }
  });
}

TEST_P(Collectives, ReduceScatterOfUnevenChunks) {
  expectWorld(mesh(), [&](WorldRank &world) {
    for (p3d_dtype dtype : {P3D_F32, P3D_BF16, P3D_I64})
      for (int64_t inner : {int64_t(5), int64_t(9'000)}) {
        const int64_t outer = 2, chunk = 4;
        const int64_t full = size() == 1 ? 4 : chunk * size() - 3;
        char *src = world.at_<char>(0), *dst = world.at_<char>(6 << 20);
        for (int64_t i = 0; i < outer * full * inner; ++i)
          set(dtype, src, i, valueOf(world.rank, i));
        world.transport.reduceScatter(P3D_TP, P3D_SUM, dtype, src, dst, outer,
                                      chunk, full, inner);
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t row = 0; row < chunk; ++row)
            for (int64_t i = 0; i < inner; ++i) {
              int64_t whole = world.rank * chunk + row;
              double expected =
                  whole < full
                      ? reduced(P3D_SUM, size(), (o * full + whole) * inner + i)
                      : 0;
              int64_t at = (o * chunk + row) * inner + i;
              requireElement(get(dtype, dst, at), expected, "reduce_scatter",
                             at);
            }
      }
  });
}

TEST_P(Collectives, ReduceScatterInPlace) {
  expectWorld(mesh(), [&](WorldRank &world) {
    const int64_t chunk = 6, full = chunk * size();
    float *data = world.at_<float>(0);
    for (int64_t i = 0; i < full; ++i)
      data[i] = float(valueOf(world.rank, i));
    float *own = data + world.rank * chunk;
    world.transport.reduceScatter(P3D_TP, P3D_SUM, P3D_F32, data, own, 1, chunk,
                                  full, 1);
    for (int64_t i = 0; i < chunk; ++i)
      requireElement(own[i], reduced(P3D_SUM, size(), world.rank * chunk + i),
                     "in place", i);
  });
}

/// The whole tensor's element is its row-major index.
void checkAllToAll(WorldRank &world, int size, std::vector<int64_t> shape,
                   int gatherDim, int splitDim) {
  auto chunkOf = [&](int dim) { return (shape[dim] + size - 1) / size; };
  const int64_t gatherChunk = chunkOf(gatherDim),
                splitChunk = chunkOf(splitDim);
  auto forEach = [&](int dim, int64_t chunk, auto body) {
    std::vector<int64_t> local = shape;
    local[dim] = chunk;
    int64_t count = 1;
    for (int64_t extent : local)
      count *= extent;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, index = 0, stride = 1;
      bool inside = true;
      for (int d = int(shape.size()) - 1; d >= 0; --d) {
        int64_t at = rest % local[d] + (d == dim ? world.rank * chunk : 0);
        rest /= local[d];
        inside &= at < shape[d];
        index += at * stride;
        stride *= shape[d];
      }
      body(i, inside ? index : 0);
    }
  };
  int32_t *src = world.at_<int32_t>(0), *dst = world.at_<int32_t>(4 << 20);
  forEach(gatherDim, gatherChunk,
          [&](int64_t i, int64_t index) { src[i] = int32_t(index); });
  world.transport.allToAll(P3D_TP, P3D_I32, src, dst, int(shape.size()),
                           shape.data(), gatherDim, gatherChunk, splitDim,
                           splitChunk);
  forEach(splitDim, splitChunk, [&](int64_t i, int64_t index) {
    requireElement(dst[i], double(index), "all_to_all", i);
  });
}

TEST_P(Collectives, AllToAllBetweenAnyTwoDimensions) {
  expectWorld(mesh(), [&](WorldRank &world) {
    for (int gatherDim = 0; gatherDim < 4; ++gatherDim)
      for (int splitDim = 0; splitDim < 4; ++splitDim)
        if (gatherDim != splitDim)
          checkAllToAll(world, size(), {5, 4, 7, 6}, gatherDim, splitDim);
    checkAllToAll(world, size(), {64, 9, 1000}, 0, 1); // the large way
  });
}

TEST(CollectivesOnAxes, EveryAxisHasItsOwnGroup) {
  expectWorld({2, 2, 2}, [](WorldRank &world) {
    for (p3d_axis axis : {P3D_TP, P3D_DP, P3D_PP, P3D_NORM}) {
      float *data = world.at_<float>(0);
      data[0] = float(1 << world.rank);
      world.transport.allReduce(axis, 0, P3D_SUM, P3D_F32, data, 1);
      int members = 0;
      std::vector<p3d_axis> axes = {axis};
      if (axis == P3D_NORM)
        axes = {P3D_TP, P3D_PP};
      for (int rank : world.program.mesh.group(world.at, axes))
        members += 1 << rank;
      require(data[0] == float(members), axisName(axis));
    }
  });
}

TEST(CollectivesOnAxes, TiedGroupsNeedNoCommonNumbering) {
  expectWorld({1, 3, 1}, [](WorldRank &world) {
    // Stage 1 does not know the second pair of stages 0 and 2.
    if (world.rank == 1)
      world.program.tiedGroups = {{0, 1}};
    else
      world.program.tiedGroups = {{0, 2}, {0, 2}};
    if (world.rank == 0)
      world.program.tiedGroups.push_back({0, 1});
    float *data = world.at_<float>(0);
    data[0] = data[1] = data[2] = float(world.rank + 1);
    auto sum = [&](int group, int at) {
      world.transport.allReduce(P3D_TIED, group, P3D_SUM, P3D_F32, data + at,
                                1);
    };
    if (world.rank != 1)
      sum(1, 1), sum(0, 0);
    if (world.rank != 2)
      sum(world.rank == 0 ? 2 : 0, 2);
    if (world.rank != 1)
      require(data[0] == 4 && data[1] == 4, "stages 0 and 2");
    if (world.rank != 2)
      require(data[2] == 3, "stages 0 and 1");
  });
}

} // namespace
