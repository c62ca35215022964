// Rank processes without programs: a control region, arenas, and one forked
// process per rank that runs a function with a transport. Used to test a
// communicator as its callers see it. What the ranks communicate over is the
// test program's: SharedMemoryWorld.cpp or Cuda/NcclWorld.cpp.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/Comm/Transport.h"
#include "runtime/Program/Program.h"
#include <functional>
#include <memory>

namespace p3d::test {

/// What a rank communicates over.
struct WorldLink {
  char *arena; ///< what calls of the transport are to point into
  Transport &transport;
  bool (*reduces)(p3d_dtype dtype);
};

/// What the ranks of a world share, made before they are forked.
class WorldLinks {
public:
  virtual ~WorldLinks() = default;
  /// Calls `body`, in the process of `rank`, with what it communicates over.
  virtual void
  connect(int rank, const Program &program, const Control &control,
          int64_t timeoutNs,
          const std::function<void(const WorldLink &)> &body) const = 0;
};

/// Each test program has one.
std::unique_ptr<WorldLinks> makeWorldLinks(int ranks, int64_t arenaBytes);

/// What a rank's function finds.
struct WorldRank : WorldLink {
  int rank;
  Coordinates at;
  Program &program; ///< may be changed before the first call
  RankArea &area;

  template <typename T> T *at_(int64_t offset) {
    return reinterpret_cast<T *>(arena + offset);
  }
};

/// Throws with the text of the condition if it does not hold.
void require(bool holds, const std::string &what);

/// Runs `body` as every rank of `mesh` and returns what the ranks threw, by
/// rank; empty where a rank ended well.
std::vector<std::string> runWorld(const Mesh &mesh,
                                  const std::function<void(WorldRank &)> &body,
                                  double timeoutSeconds = 20,
                                  int64_t arenaBytes = 1 << 23);

/// The same, and expects that no rank threw.
void expectWorld(const Mesh &mesh,
                 const std::function<void(WorldRank &)> &body);

} // namespace p3d::test
