// Transfers between stages: order, several values, slots that are used again.
#include "test/unit/runtime/World.h"
#include <gmock/gmock.h>
#include <unistd.h>

using namespace p3d;
using namespace p3d::test;
using testing::HasSubstr;

namespace {

TEST(Transfers, AChainKeepsSlotsUntilReceived) {
  // Three stages, two slots, 40 microbatches: each stage adds one to what it
  // passes on.
  expectWorld({2, 3, 1}, [](WorldRank &world) {
    const int64_t count = 1000;
    for (int64_t mb = 0; mb < 40; ++mb) {
      int64_t slot = mb % 2;
      world.transport.finishSends(slot);
      int64_t *data = world.at_<int64_t>(slot * count * 8);
      if (world.at.pp == 0)
        for (int64_t i = 0; i < count; ++i)
          data[i] = mb * 1000 + i + world.at.tp * 1'000'000;
      else
        world.transport.receive(world.at.pp - 1, 7, mb, data, count * 8);
      for (int64_t i = 0; i < count; ++i)
        require(data[i] ==
                    mb * 1000 + i + world.at.tp * 1'000'000 + world.at.pp,
                "payload");
      for (int64_t i = 0; i < count; ++i)
        ++data[i];
      if (world.at.pp < 2)
        world.transport.send(world.at.pp + 1, 7, mb, slot, data, count * 8);
    }
    world.transport.finishAllSends();
  });
}

TEST(Transfers, ValuesAreReceivedInAnyOrder) {
  expectWorld({1, 2, 1}, [](WorldRank &world) {
    int32_t *data = world.at_<int32_t>(0);
    if (world.rank == 0) {
      for (int value = 0; value < 5; ++value) {
        data[value] = 100 + value;
        world.transport.send(1, value, 3, 0, data + value, 4);
      }
      world.transport.finishAllSends();
    } else {
      for (int value = 4; value >= 0; --value) {
        world.transport.receive(0, value, 3, data, 4);
        require(data[0] == 100 + value, "value");
      }
    }
  });
}

TEST(Transfers, CrossingSendsDoNotDeadlock) {
  expectWorld({1, 2, 1}, [](WorldRank &world) {
    int32_t *data = world.at_<int32_t>(0);
    data[0] = world.rank;
    world.transport.send(1 - world.rank, 0, 0, 0, data, 4);
    world.transport.receive(1 - world.rank, 0, 0, data + 1, 4);
    require(data[1] == 1 - world.rank, "crossing");
    world.transport.finishSends(0);
  });
}

TEST(Transfers, MoreMessagesThanTheOutboxHolds) {
  expectWorld({1, 2, 1}, [](WorldRank &world) {
    int32_t *data = world.at_<int32_t>(0);
    for (int value = 0; value < 2 * maxMessages + 10; ++value)
      if (world.rank == 0)
        world.transport.send(1, value, 0, 0, data, 4);
      else
        world.transport.receive(0, value, 0, data, 4);
    world.transport.finishAllSends();
  });
}

TEST(Transfers, SizesHaveToAgree) {
  std::vector<std::string> texts = runWorld(
      {1, 2, 1},
      [](WorldRank &world) {
        if (world.rank == 0)
          world.transport.send(1, 2, 5, 0, world.at_<char>(0), 8);
        else
          world.transport.receive(0, 2, 5, world.at_<char>(0), 12);
      },
      0.3);
  EXPECT_THAT(texts[1], HasSubstr("has 8 bytes on rank 0 and 12 on rank 1"));
}

TEST(Transfers, TheChainOfWaitsLeadsToTheLateRank) {
  std::vector<std::string> texts = runWorld(
      {1, 3, 1},
      [](WorldRank &world) {
        setText(world.area.operation, "x: recv");
        if (world.rank > 0)
          world.transport.receive(world.rank - 1, 0, 0, world.at_<char>(0), 8);
        else // computes, and does not send
          usleep(900'000);
      },
      0.4);
  EXPECT_THAT(texts[2], HasSubstr("rank 0 holds up the others"));
}

} // namespace
