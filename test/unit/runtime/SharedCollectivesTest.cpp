// What collectives over shared memory promise beyond others: the order of
// additions, one rounding, bits of integers; and the reports of their failures.
#include "runtime/DType.h"
#include "test/unit/runtime/Elements.h"
#include <gmock/gmock.h>

using namespace p3d;
using namespace p3d::test;
using testing::HasSubstr;

namespace {

class SharedCollectives : public testing::TestWithParam<int> {
protected:
  int size() const { return GetParam(); }
  Mesh mesh() const { return {size(), 1, 1}; }
};
INSTANTIATE_TEST_SUITE_P(Groups, SharedCollectives, testing::Range(1, 5));

TEST_P(SharedCollectives, AllReduceOfIntegersByBits) {
  expectWorld(mesh(), [&](WorldRank &world) {
    for (p3d_reduce_kind kind : {P3D_AND, P3D_OR, P3D_PROD}) {
      char *data = world.at_<char>(0);
      for (int64_t i = 0; i < 50; ++i)
        set(P3D_I32, data, i, valueOf(world.rank, i));
      world.transport.allReduce(P3D_TP, 0, kind, P3D_I32, data, 50);
      for (int64_t i = 0; i < 50; ++i)
        requireElement(get(P3D_I32, data, i), reduced(kind, size(), i), "bits",
                       i);
    }
  });
}

TEST_P(SharedCollectives, LargeAllReduceAddsInTheOrderOfRanks) {
  expectWorld(mesh(), [&](WorldRank &world) {
    const int64_t count = 300'001; // several chunks, the last one shorter
    auto value = [](int rank, int64_t i) {
      return float(valueOf(rank, i)) * (rank % 2 ? 1e7f : 0.1f);
    };
    float *data = world.at_<float>(0);
    for (int64_t i = 0; i < count; ++i)
      data[i] = value(world.rank, i);
    world.transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_F32, data, count);
    for (int64_t i = 0; i < count; ++i) {
      float sum = value(0, i);
      for (int rank = 1; rank < size(); ++rank)
        sum += value(rank, i);
      requireElement(data[i], sum, "f32 in order", i);
    }
  });
}

TEST(CollectivesOnAxes, NormIsSummedInDouble) {
  expectWorld({3, 1, 1}, [](WorldRank &world) {
    double parts[] = {1e16, 1, -1e16};
    double sum = parts[world.rank];
    world.transport.sumOverNorm(&sum);
    require(sum == (1e16 + 1) - 1e16, "order of the ranks");
  });
}

TEST(CollectivesOnAxes, SixteenBitFloatsRoundOnce) {
  expectWorld({3, 1, 1}, [](WorldRank &world) {
    // 256 + 1 + 1: rounded at each step it would stay 256.
    uint16_t *data = world.at_<uint16_t>(0);
    data[0] = toBF16(world.rank == 0 ? 256 : 1);
    world.transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_BF16, data, 1);
    require(fromBF16(data[0]) == 258, "bf16");
  });
}

TEST(CollectivesOnAxes, NanSurvivesMaximum) {
  expectWorld({3, 1, 1}, [](WorldRank &world) {
    float *data = world.at_<float>(0);
    for (int i = 0; i < 3; ++i)
      data[i] = world.rank == i ? NAN : 1;
    world.transport.allReduce(P3D_TP, 0, P3D_MAX, P3D_F32, data, 3);
    require(data[0] != data[0] && data[1] != data[1] && data[2] != data[2],
            "nan");
  });
}

TEST(CollectiveFailures, DifferentCallsAreReported) {
  std::vector<std::string> texts = runWorld(
      {2, 1, 1},
      [](WorldRank &world) {
        setText(world.area.operation, world.rank ? "second" : "first");
        world.transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_F32,
                                  world.at_<float>(0), 4 + world.rank);
      },
      0.3);
  std::string text = texts[0] + texts[1];
  EXPECT_THAT(text, HasSubstr("issue different collectives"));
  EXPECT_THAT(text, HasSubstr("\"first\""));
  EXPECT_THAT(text, HasSubstr("\"second\""));
}

TEST(CollectiveFailures, TheLateRankIsNamed) {
  std::vector<std::string> texts = runWorld(
      {4, 1, 1},
      [](WorldRank &world) {
        setText(world.area.operation, "h: all_reduce");
        if (world.rank != 2)
          world.transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_F32,
                                    world.at_<float>(0), 4);
      },
      0.3);
  EXPECT_EQ(texts[2], "");
  EXPECT_THAT(texts[0], HasSubstr("communicator tp of ranks 0-3"));
  EXPECT_THAT(texts[0], HasSubstr("arrived 0, 1, 3; late 2"));
}

TEST(CollectiveFailures, MemoryOutsideTheArenaIsRefused) {
  std::vector<std::string> texts = runWorld({1, 1, 1}, [](WorldRank &world) {
    float outside[4];
    world.transport.allGather(P3D_TP, P3D_F32, outside, outside, 1, 4, 4, 1);
  });
  EXPECT_THAT(texts[0], HasSubstr("outside the arena"));
}

} // namespace
