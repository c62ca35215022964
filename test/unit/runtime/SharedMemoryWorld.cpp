// Ranks that communicate over arenas in shared memory.
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "test/unit/runtime/World.h"
#include <unistd.h>

namespace p3d::test {
namespace {

class SharedArenas : public WorldLinks {
public:
  SharedArenas(int ranks, int64_t arenaBytes) {
    for (int rank = 0; rank < ranks; ++rank)
      fds.push_back(createArena(arenaBytes));
  }
  ~SharedArenas() override {
    for (int fd : fds)
      close(fd);
  }

  void
  connect(int rank, const Program &program, const Control &control,
          int64_t timeoutNs,
          const std::function<void(const WorldLink &)> &body) const override {
    Arenas arenas(rank, fds);
    SharedMemoryTransport transport(program, rank, control, arenas, timeoutNs);
    body({arenas.own(), transport, [](p3d_dtype) { return true; }});
  }

private:
  std::vector<int> fds;
};

} // namespace

std::unique_ptr<WorldLinks> makeWorldLinks(int ranks, int64_t arenaBytes) {
  return std::make_unique<SharedArenas>(ranks, arenaBytes);
}

} // namespace p3d::test
