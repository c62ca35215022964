// What reports of failures say of the ranks, and the memory that ranks share
// when it cannot be had.
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Cpu/Arena.h"
#include "test/unit/runtime/World.h"
#include <gmock/gmock.h>
#include <unistd.h>

using namespace p3d;
using namespace p3d::test;
using testing::HasSubstr;

namespace {

TEST(Reports, SayWhatEachRankDoes) {
  Control control = Control::create(1);
  RankArea &area = control.rank(0);
  area.pid = getpid();
  auto describe = [&](Activity activity) {
    area.activity = uint32_t(activity);
    return describeRank(control, 0);
  };
  EXPECT_EQ(describe(Activity::Starting), "rank 0 is at step 0, starting");
  area.step = 3, area.mb = 1;
  setText(area.task, "forward");
  setText(area.operation, "h: recv");
  std::string place =
      "rank 0 is at step 3 in task forward, microbatch 1, operation "
      "\"h: recv\", ";
  EXPECT_EQ(describe(Activity::Running), place + "computing");
  EXPECT_EQ(describe(Activity::InCollective),
            place + "waiting in a collective");
  EXPECT_EQ(describe(Activity::Receiving), place + "waiting to receive");
  EXPECT_EQ(describe(Activity::AwaitingReceiver),
            place + "waiting for a receiver");
  EXPECT_EQ(describe(Activity::AwaitingLauncher),
            place + "waiting for p3d-run to read its steps");
  EXPECT_EQ(describe(Activity::Finished), place + "finished");
  EXPECT_EQ(describe(Activity(99)), place + "in an unknown state");
}

TEST(Reports, SayWhatIsKnownOfOtherHosts) {
  Control control = Control::create(2);
  RankArea &area = control.rank(1);
  area.endpoint = {1, 999, -1, {}};
  setText(area.host, "two");
  EXPECT_EQ(describeRank(control, 1), "rank 1 on two, whose place is known on the host of rank 0 only");
  area.heardNs = monotonicNs() - 7'000'000'000;
  EXPECT_EQ(describeRank(control, 1), "rank 1 on two is at step 0, as was heard 7 s ago, and nothing since");
}

TEST(Reports, NameTheTransferThatIsLate) {
  std::vector<std::string> texts = runWorld(
      {1, 2, 1},
      [](WorldRank &world) {
        world.area.step = 4;
        setText(world.area.operation, world.rank ? "y: recv" : "x: send");
        if (world.rank == 1)
          return usleep(900'000), void();
        world.transport.send(1, 7, 2, 0, world.at_<char>(0), 8);
        world.transport.finishAllSends();
      },
      0.4);
  EXPECT_EQ(texts[0],
            "rank 0 waited 0.4 s at step 4 in operation \"x: send\", for "
            "transfer 7 of microbatch 2 to be received by rank 1 (communicator "
            "pp): arrived 0; late 1; rank 1 holds up the others: rank 1 is at "
            "step 4, operation \"y: recv\", computing");
}

// Whichever rank does not come, and whatever the others are in: they say where they wait, with whom, who is there and who
// is not.
TEST(Reports, NameWhoeverIsLateInACollective) {
  const std::vector<std::pair<std::string, void (*)(WorldRank &)>> collectives = {
      {"all_reduce",
       [](WorldRank &world) { world.transport.allReduce(P3D_DP, 0, P3D_SUM, P3D_F32, world.at_<float>(0), 300'000); }},
      {"all_gather",
       [](WorldRank &world) {
         world.transport.allGather(P3D_DP, P3D_F32, world.at_<float>(0), world.at_<float>(4096), 1, 8, 24, 1);
       }},
      {"reduce_scatter",
       [](WorldRank &world) {
         world.transport.reduceScatter(P3D_DP, P3D_SUM, P3D_F32, world.at_<float>(0), world.at_<float>(4096), 1, 8, 24, 1);
       }},
      {"all_to_all",
       [](WorldRank &world) {
         const int64_t shape[] = {3, 6};
         world.transport.allToAll(P3D_DP, P3D_F32, world.at_<float>(0), world.at_<float>(4096), 2, shape, 1, 2, 0, 1);
       }},
  };
  for (const auto &[name, call] : collectives)
    for (int late : {0, 2}) {
      std::vector<std::string> texts = runWorld(
          {1, 1, 3},
          [&, call = call, name = name](WorldRank &world) {
            world.area.step = 6;
            setText(world.area.operation, "w: " + name);
            call(world); // a first one, that all are in
            if (world.rank == late) {
              setText(world.area.operation, "elsewhere");
              return usleep(900'000), void();
            }
            call(world);
          },
          0.4);
      EXPECT_EQ(texts[size_t(late)], "");
      std::string there = late == 0 ? "1, 2" : "0, 1";
      for (int rank : {1, 2 - late})
        EXPECT_THAT(texts[size_t(rank)],
                    testing::StartsWith(fmt::format("rank {} waited 0.4 s at step 6 in operation \"w: {}\", communicator dp of "
                                                    "ranks 0-2: arrived {}; late {}; rank {} holds up the others: rank {} is "
                                                    "at step 6, operation \"elsewhere\"",
                                                    rank, name, there, late, late, late)));
    }
}

TEST(Reports, NameACircle) {
  std::vector<std::string> texts = runWorld(
      {1, 2, 1},
      [](WorldRank &world) {
        world.transport.receive(1 - world.rank, 7, 2, world.at_<char>(0), 8);
      },
      0.4);
  // The one that gives up first may leave the other computing.
  std::string text = texts[0] + texts[1];
  EXPECT_THAT(text, HasSubstr("for transfer 7 of microbatch 2 from rank"));
  EXPECT_THAT(text, HasSubstr("ranks wait for each other in a circle; rank "));
  EXPECT_THAT(text, HasSubstr("waiting to receive; rank "));
}

std::string faultOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(SharedMemory, MoreThanTheMachineCanMap) {
  const int64_t addresses = int64_t(1) << 47; // of a process
  EXPECT_EQ(faultOf([] { createArena(-1); }),
            "cannot make an arena of -1 bytes: Invalid argument");
  EXPECT_EQ(faultOf([&] { Arenas(0, {createArena(addresses)}).own(); }),
            "cannot map the arena of rank 0 of 140737488355328 bytes: Cannot "
            "allocate memory");
  EXPECT_EQ(faultOf([] { Arenas(0, {-1}).own(); }),
            "the arena of rank 0 was not inherited: Bad file descriptor");
  std::string text = faultOf([] { Control::create(INT32_MAX); });
  EXPECT_THAT(text, testing::StartsWith("cannot map the control region of "));
  EXPECT_THAT(text, HasSubstr(" bytes: Cannot allocate memory"));
}

TEST(SharedMemory, AnArenaThatIsNotShared) {
  const int64_t bytes = (int64_t(9) << 20) + 100;
  Arenas arenas(0, {createArena(bytes)}, /*isAlone=*/true);
  EXPECT_EQ(arenas.touchedBytes(), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arenas.own()) % (2 << 20), 0u);
  EXPECT_EQ(arenas.offsetOf(arenas.own() + bytes - 1, 1, "a test"), bytes - 1);
  arenas.own()[0] = 1;
  // A page, huge or not.
  EXPECT_GE(arenas.touchedBytes(), 4096);
  EXPECT_LE(arenas.touchedBytes(), 2 << 20);
  std::fill_n(arenas.own(), bytes, 2);
  EXPECT_EQ(arenas.touchedBytes(), bytes);
}

TEST(SharedMemory, AControlRegionIsKnown) {
  EXPECT_EQ(faultOf([] { Control::open(-1); }),
            "file descriptor -1 is not a control region");
  int other = createArena(1 << 24);
  EXPECT_EQ(faultOf([&] { Control::open(other); }),
            "the control region is not that of this version of p3d-run; "
            "compile again");
  close(other);
}

} // namespace
