// What ranks of several hosts promise beyond others: what they say of connections, and data that comes before it is
// wanted.
#include "runtime/Comm/Hosts/Connections.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "test/unit/runtime/World.h"
#include <gmock/gmock.h>
#include <unistd.h>

using namespace p3d;
using namespace p3d::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

constexpr int64_t second = 1'000'000'000;

std::string faultOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no fault";
}

TEST(Hosts, ManyLargeTransfersComeEarly) {
  expectWorld({1, 2, 1}, [](WorldRank &world) {
    const int64_t count = 100'000;
    float *data = world.at_<float>(0);
    for (int mb = 0; mb < 10; ++mb)
      if (world.rank == 0) {
        for (int64_t i = 0; i < count; ++i)
          data[mb * count + i] = float(mb * 7 + i);
        world.transport.send(1, 3, mb, 0, data + mb * count, count * 4);
      }
    if (world.rank == 0)
      return world.transport.finishAllSends();
    usleep(200'000);
    for (int mb = 9; mb >= 0; --mb) {
      world.transport.receive(0, 3, mb, data, count * 4);
      for (int64_t i = 0; i < count; ++i)
        require(data[i] == float(mb * 7 + i), "payload");
    }
  });
}

TEST(Hosts, MembersThatDisagreeSaySo) {
  std::vector<std::string> texts = runWorld(
      {1, 1, 3},
      [](WorldRank &world) {
        world.transport.allReduce(P3D_DP, 0, world.rank == 2 ? P3D_MAX : P3D_SUM, P3D_F32, world.at_<float>(0), 9);
      },
      2);
  EXPECT_THAT(texts[0], HasSubstr("the members of communicator dp of ranks 0-2 issue different collectives: rank 0 on here is "));
}

TEST(Hosts, ARankThatIsGone) {
  std::vector<std::string> texts = runWorld(
      {1, 2, 1},
      [](WorldRank &world) {
        if (world.rank == 1)
          world.transport.receive(0, 0, 0, world.at_<char>(0), 8);
      },
      1);
  EXPECT_THAT(texts[1], AllOf(HasSubstr("late 0; rank 0 holds up the others: rank 0 on here is at step 0"),
                              HasSubstr("; the connection with rank 0 has ended: closed by the other side")));
}

class ConnectionsTest : public testing::Test {
protected:
  ConnectionsTest() {
    for (int rank : {0, 1}) {
      control.rank(rank).endpoint = {rank, portOf(listening[rank].get()), listening[rank].get(), {}};
      setText(control.rank(rank).endpoint.address, "127.0.0.1");
      setText(control.rank(rank).host, "there");
    }
  }
  Control control = Control::create(2);
  FileDescriptor listening[2] = {listenAt(0), listenAt(0)};
};

TEST_F(ConnectionsTest, APeerThatCannotBeReached) {
  listening[0] = FileDescriptor();
  EXPECT_THAT(faultOf([&] { Connections(control, 1, {0}, second / 5); }),
              AllOf(HasSubstr("rank 1 cannot connect to rank 0 on there, at 127.0.0.1 port "),
                    HasSubstr(": Connection refused; the hosts of a run have to reach each other at any port")));
}

TEST_F(ConnectionsTest, APeerThatDoesNotConnect) {
  // A stranger does not count.
  std::string failure;
  FileDescriptor stranger = connectTo("127.0.0.1", control.rank(0).endpoint.port, failure);
  ASSERT_EQ(write(stranger.get(), "GET / HTTP/1.1\r\n\r\n____________", 30), 30);
  EXPECT_THAT(faultOf([&] { Connections(control, 0, {1}, second / 2); }),
              AllOf(HasSubstr("rank 0 waited 0.5 s for ranks 1 on there to connect to it; the hosts of a run have to "
                              "reach each other at any port")));
}

TEST_F(ConnectionsTest, OnlyPeersAreTalkedTo) {
  Connections nobody(control, 0, {}, second);
  EXPECT_THAT(faultOf([&] { nobody.take(1, {}); }), HasSubstr("rank 0 has no connection with rank 1"));
}

} // namespace
