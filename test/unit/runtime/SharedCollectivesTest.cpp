// What collectives over shared memory promise beyond others: the order of
// additions, one rounding, bits of integers; and the reports of their failures.
#include "runtime/Comm/SharedMemory/Reduce.h"
#include "runtime/Comm/SharedMemory/Work.h"
#include "runtime/DType.h"
#include "test/unit/runtime/Elements.h"
#include <gmock/gmock.h>
#include <thread>

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

// More ranks than cores, and calls from the smallest to such as wake helpers, in turn: nobody may go on before all is done,
// or touch what is not his.
TEST(CollectivesOnAxes, ManyRanksShareWorkOfEverySize) {
  constexpr int ranks = 9;
  expectWorld({ranks, 1, 1}, [](WorldRank &world) {
    float *data = world.at_<float>(0), *parts = world.at_<float>(1 << 22);
    for (int round = 0; round < 20; ++round)
      for (int64_t count : {int64_t(1), int64_t(65), int64_t(9'001), int64_t(200'003)}) {
        auto value = [&](int rank, int64_t i) { return float(valueOf(rank, i + round)); };
        for (int64_t i = 0; i < count; ++i)
          data[i] = value(world.rank, i);
        world.transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_F32, data, count);
        float sums = 0;
        for (int64_t i = 0; i < count; i += 97) {
          sums = 0;
          for (int rank = 0; rank < ranks; ++rank)
            sums += value(rank, i);
          requireElement(data[i], sums, "shared work", i);
        }
        const int64_t chunk = (count + ranks - 1) / ranks;
        world.transport.reduceScatter(P3D_TP, P3D_MAX, P3D_F32, data, parts, 1, chunk, count, 1);
        for (int64_t i = 0; i < count; ++i)
          data[i] = -1;
        world.transport.allGather(P3D_TP, P3D_F32, parts, data, 1, chunk, count, 1);
        for (int64_t i = 0; i < count; i += 97) {
          sums = 0;
          for (int rank = 0; rank < ranks; ++rank)
            sums += value(rank, i);
          requireElement(data[i], sums, "scattered and gathered", i);
        }
      }
  });
}

TEST(SharedWork, EveryUnitIsDoneOnceAndOneMemberSeesTheEnd) {
  for (int64_t units : {int64_t(0), int64_t(1), int64_t(64), int64_t(4'097), int64_t(100'000)})
    for (int members : {2, 5})
      for (int cores : {1, 2, 64}) {
        std::vector<std::atomic<int>> done(static_cast<size_t>(units));
        Work work{units, 64, 1000, [&](int64_t begin, int64_t end) {
                    EXPECT_EQ(begin % 64, 0);
                    for (int64_t i = begin; i < end; ++i)
                      ++done[size_t(i)];
                  }};
        Division division(work, members, cores);
        EXPECT_LE(division.workers(), std::min(members, cores));
        EXPECT_EQ(division.workers() > 1, units > 2'000 && cores > 1);
        SharedParts shared{};
        division.open(shared, 7);
        EXPECT_TRUE(Division::isOpen(shared, 7));
        EXPECT_FALSE(Division::isOpen(shared, 8));
        std::atomic<int> ends{0};
        std::vector<std::thread> threads;
        for (int index = 0; index < members; ++index)
          threads.emplace_back([&, index] { ends += division.takePart(shared, index); });
        for (std::thread &thread : threads)
          thread.join();
        EXPECT_EQ(ends, 1) << units << " units, " << members << " members, " << cores << " cores";
        for (const std::atomic<int> &count : done)
          ASSERT_EQ(count, 1);
      }
}

// Conversions that vectorise against the plain ones of DType.h: every half, and sums of them that round in every way.
TEST(Reductions, SixteenBitFloatsAsTheirDefinitionSays) {
  constexpr int64_t all = 65536;
  std::vector<uint16_t> first(all), second(all), sum(all);
  for (p3d_dtype dtype : {P3D_F16, P3D_BF16})
    for (int64_t stride : {int64_t(0), int64_t(1), int64_t(8191), int64_t(40503)}) {
      for (int64_t i = 0; i < all; ++i)
        first[size_t(i)] = uint16_t(i), second[size_t(i)] = uint16_t(i * stride + stride);
      reduceRange(P3D_SUM, dtype,
                  {reinterpret_cast<char *>(first.data()), reinterpret_cast<char *>(second.data())},
                  {reinterpret_cast<char *>(sum.data())}, 0, all);
      for (int64_t i = 0; i < all; ++i) {
        uint16_t expected = 0;
        storeFloat(dtype, &expected, 0,
                   float(loadFloat(dtype, first.data(), i)) + float(loadFloat(dtype, second.data(), i)));
        double wanted = loadFloat(dtype, &expected, 0), found = loadFloat(dtype, sum.data(), i);
        if (wanted == wanted)
          ASSERT_EQ(sum[size_t(i)], expected) << info(dtype).name << " " << i << " + " << second[size_t(i)];
        else
          ASSERT_NE(found, found) << info(dtype).name << " " << i;
      }
    }
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
