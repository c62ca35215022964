// What NCCL cannot reduce, and the deadline of its operations.
#include "test/unit/runtime/World.h"
#include <gmock/gmock.h>
#include <unistd.h>

using namespace p3d;
using namespace p3d::test;
using testing::HasSubstr;

namespace {

std::string refusal(p3d_reduce_kind kind, p3d_dtype dtype) {
  return runWorld({2, 1, 1}, [&](WorldRank &world) {
    world.transport.allReduce(P3D_TP, 0, kind, dtype, world.at_<char>(0), 4);
  })[0];
}

TEST(Nccl, RefusesWhatItCannotReduce) {
  EXPECT_EQ(refusal(P3D_SUM, P3D_I16), "NCCL cannot reduce elements of type i16; convert to i32 before the reduction");
  EXPECT_EQ(refusal(P3D_AND, P3D_I32), "NCCL cannot reduce i32 by a bitwise operation; reduce i1 instead");
}

TEST(Nccl, TheLateRankIsNamed) {
  std::vector<std::string> texts = runWorld(
      {3, 1, 1},
      [](WorldRank &world) {
        float *data = world.at_<float>(0);
        world.transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_F32, data, 4);
        setText(world.area.operation, "h: all_reduce");
        if (world.rank == 1)
          sleep(4);
        else
          world.transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_F32, data, 4);
      },
      1);
  EXPECT_THAT(texts[0] + texts[2], HasSubstr("communicator tp of ranks 0-2: arrived 0, 2; late 1"));
  EXPECT_THAT(texts[0] + texts[2], HasSubstr("in operation \"h: all_reduce\""));
}

TEST(Nccl, ARankThatNeverComesIsNamed) {
  std::vector<std::string> texts = runWorld(
      {2, 1, 1},
      [](WorldRank &world) {
        if (world.rank == 0)
          world.transport.allReduce(P3D_TP, 0, P3D_SUM, P3D_F32, world.at_<float>(0), 4);
        else
          sleep(4);
      },
      1);
  EXPECT_THAT(texts[0], HasSubstr("communicator tp of ranks 0, 1: arrived 0; late 1"));
}

} // namespace
