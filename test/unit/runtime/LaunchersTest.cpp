// What launchers of one run say to each other, one side at a time; Cuda/ClusterTest.cpp has whole runs.
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/tools/p3d-run/Cluster/Member.h"
#include "runtime/tools/p3d-run/Cluster/Root.h"
#include "runtime/tools/p3d-run/StartGate.h"
#include "test/unit/runtime/ToyRun.h"
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace p3d;
using testing::AllOf;
using testing::HasSubstr;

namespace {

const int port = test::freePort();

/// Two launchers of four ranks each.
Placement placement(int firstRank) { return {8, firstRank, 4, firstRank, "127.0.0.1", port}; }

RunFacts factsOf(const std::string &exportFile = "") { return {"program", 7, exportFile, "", 0.3, 0.4}; }

/// What `step` throws, called again and again.
std::string faultOf(const std::function<void()> &step) {
  try {
    for (int i = 0; i < 300; ++i, usleep(10'000))
      step();
  } catch (const Error &error) {
    return error.what();
  }
  return "no fault";
}

/// The other side of a root: says hello, and nothing else unless told.
struct FakeMember {
  FakeMember() : link(connect()) {}
  static FileDescriptor connect() {
    std::string failure;
    return connectTo("127.0.0.1", port, failure);
  }
  void hello(int worldSize = 8, const std::string &program = "program", const std::string &host = hostName()) {
    HelloMessage message{HelloMessage::magicNumber, 7, worldSize, 4, 4, {}, {}};
    setText(message.fingerprint, program), setText(message.host, host);
    link.send(message);
  }
  Link link;
};

class RootTest : public testing::Test {
protected:
  std::string faultWhileJoining(const RunFacts &facts, const std::function<void(FakeMember &)> &greet) {
    Root root(here, build, control, facts);
    FakeMember member;
    greet(member);
    return faultOf([&] { root.join(); });
  }
  Control control = Control::create(8);
  Placement here = placement(0);
  Build build;
};

TEST_F(RootTest, RefusesAnotherProgram) {
  EXPECT_THAT(faultWhileJoining(factsOf(), [](FakeMember &m) { m.hello(16); }),
              AllOf(HasSubstr("the launcher of ranks 4-7 on "),
                    HasSubstr(" has a program of 16 ranks, and rank 0 one of 8; give all the same directory")));
  EXPECT_THAT(faultWhileJoining(factsOf(), [](FakeMember &m) { m.hello(8, "other"); }),
              HasSubstr(" has another program than rank 0; give all the same directory, or compile again"));
}

TEST_F(RootTest, RefusesOneFileOnTwoMachines) {
  EXPECT_THAT(faultWhileJoining(factsOf("/tmp/x"), [](FakeMember &m) { m.hello(8, "program", "elsewhere"); }),
              AllOf(HasSubstr("--export and --dump-grads let all ranks write into one file, and "),
                    HasSubstr(" and elsewhere are two machines; leave them out, or run on one machine")));
}

TEST_F(RootTest, ReportsALauncherThatFallsSilent) {
  Root root(here, build, control, factsOf());
  FakeMember member;
  member.hello();
  while (!root.join())
    usleep(1000);
  EXPECT_THAT(faultOf([&] { root.exchange(); }),
              AllOf(HasSubstr("the launcher of ranks 4-7 on "), HasSubstr(" has said nothing for 0 s; rank "),
                    HasSubstr("4 was at step 0; all ranks are stopped")));
}

TEST_F(RootTest, RefusesATakenPort) {
  Root root(here, build, control, factsOf());
  EXPECT_THAT(faultOf([&] { Root(here, build, control, factsOf()); }),
              HasSubstr(fmt::format("cannot listen at port {}: Address already in use; set MASTER_PORT to a free port for every process",
                                    port)));
}

/// The other side of a member.
struct FakeRoot {
  FakeRoot() : listening(listenAt(port)) {}
  void accept() {
    FileDescriptor socket = acceptFrom(listening.get());
    if (socket.get() >= 0)
      link = std::make_unique<Link>(std::move(socket));
  }
  FileDescriptor listening;
  std::unique_ptr<Link> link;
};

TEST(MemberTest, WaitsForAWelcomeNotForEver) {
  FakeRoot root;
  Control control = Control::create(8);
  Placement here = placement(4);
  Member member(here, control, factsOf());
  EXPECT_THAT(faultOf([&] { member.join(); }),
              HasSubstr(fmt::format("the launcher of rank 0 at 127.0.0.1:{} has not said in 0.7 s that all ranks are there", port)));
}

TEST(MemberTest, ReportsARootThatFallsSilent) {
  FakeRoot root;
  Control control = Control::create(8);
  Placement here = placement(4);
  Member member(here, control, factsOf());
  while (!member.join()) {
    root.accept();
    if (root.link)
      root.link->send(WelcomeMessage{7, monotonicNs(), {}, {}});
    usleep(1000);
  }
  EXPECT_THAT(faultOf([&] { member.exchange(); }),
              HasSubstr(fmt::format("the launcher of rank 0 at 127.0.0.1:{} has said nothing for 0 s; the ranks here are stopped", port)));
}

TEST(MemberTest, RefusesWhatIsNoMessage) {
  FakeRoot root;
  Control control = Control::create(8);
  Placement here = placement(4);
  Member member(here, control, factsOf());
  auto say = [&](const auto &message) {
    root.accept();
    if (root.link)
      root.link->send(message);
    member.join();
  };
  EXPECT_THAT(faultOf([&] {
                say(RecordMessage{99, 0, {}});
              }),
              HasSubstr("a message between launchers is about rank 99 of 8"));
}

TEST(StartGateTest, OpensWhenAllAreThere) {
  Control control = Control::create(3);
  StartGate gate(control, 0.05);
  EXPECT_FALSE(gate.check());
  for (int rank : {0, 2}) {
    setText(control.rank(rank).device, std::to_string(rank));
    control.rank(rank).isReady.store(1);
  }
  EXPECT_FALSE(gate.check());
  EXPECT_THAT(faultOf([&] { gate.check(); }),
              HasSubstr("ranks 0, 2 have been ready to start for 0.05 s, ranks 1 are not; rank 1 is at step 0, "
                        "starting"));
  control.rank(1).isReady.store(1);
  EXPECT_TRUE(gate.check());
  EXPECT_EQ(control.header().mayStart.load(), 1u);
}

} // namespace
