// Ranks that communicate over TCP, as on several hosts: P3D_RANKS_PER_HOST of them share memory.
#include "runtime/Comm/Hosts/HostsTransport.h"
#include "test/unit/runtime/World.h"
#include <cstdlib>
#include <unistd.h>

namespace p3d::test {
namespace {

class Hosts : public WorldLinks {
public:
  Hosts(int ranks, int64_t arenaBytes) {
    for (int rank = 0; rank < ranks; ++rank) {
      fds.push_back(createArena(arenaBytes));
      listening.push_back(listenAt(0));
    }
  }
  ~Hosts() override {
    for (int fd : fds)
      close(fd);
  }

  void connect(int rank, const Program &program, const Control &control, int64_t timeoutNs,
               const std::function<void(const WorldLink &)> &body) const override {
    const char *perHost = std::getenv("P3D_RANKS_PER_HOST");
    int ranksPerHost = perHost ? std::atoi(perHost) : 1;
    // All processes write the same.
    for (int other = 0; other < control.worldSize(); ++other) {
      int fd = listening[other].get();
      control.rank(other).endpoint = {other / ranksPerHost, portOf(fd), fd, {}};
      setText(control.rank(other).endpoint.address, "127.0.0.1");
      setText(control.rank(other).host, "here");
    }
    Arenas arenas(rank, fds);
    HostsTransport transport(program, rank, control, arenas, timeoutNs);
    body({arenas.own(), transport, [](p3d_dtype) { return true; }});
  }

private:
  std::vector<int> fds;
  std::vector<FileDescriptor> listening;
};

} // namespace

std::unique_ptr<WorldLinks> makeWorldLinks(int ranks, int64_t arenaBytes) {
  return std::make_unique<Hosts>(ranks, arenaBytes);
}

} // namespace p3d::test
