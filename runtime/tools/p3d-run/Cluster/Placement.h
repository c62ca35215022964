// Which ranks this launcher starts, and where the launcher of rank 0 is: what mpirun, srun and torchrun say in the
// environment of a process.
#pragma once
#include <functional>
#include <string>

namespace p3d {

struct Placement {
  int worldSize = 1;
  int firstRank = 0, rankCount = 1; ///< the ranks that this launcher starts
  int localRank = 0;                ///< of firstRank among the ranks of its host
  std::string address;              ///< of the launcher of rank 0, unless alone
  int port = 0;

  bool isAlone() const { return rankCount == worldSize; }
  bool isRoot() const { return firstRank == 0; }
};

/// A variable of the environment, or null.
using Environment = std::function<const char *(const char *name)>;

/// All ranks, here.
Placement placeAll(int worldSize);

/// The part of a launcher that was started several times, with `ranksPerStart` ranks each. A user error if
/// `environment` does not say which start this is, if the starts do not make `worldSize` ranks, or if rank 0 cannot be
/// found.
Placement placeFrom(const Environment &environment, int worldSize, int ranksPerStart);

/// The first host of a list as Slurm writes it: "rack[01-04,7]b2,c" begins with "rack01b2".
std::string firstHost(const std::string &list);

} // namespace p3d
