// The launchers of one run that were started in parts. That of rank 0, the root, has a connection with each other one;
// it hands on what ranks need to find each other, gathers what they report, and ends them all together.
#pragma once
#include "runtime/tools/p3d-run/Build.h"
#include "runtime/tools/p3d-run/Cluster/Mirror.h"
#include <memory>
#include <poll.h>

namespace p3d {

/// What has to be the same for all launchers, and what is the root's to say.
struct RunFacts {
  std::string fingerprint;
  uint64_t options;                      ///< a hash
  std::string exportFile, gradientsFile; ///< as the root knows them; empty: none
  double timeoutSeconds; ///< for all to come
  double silenceSeconds; ///< without a sign of life a launcher is taken for dead
};

/// Somebody wants the run to end.
class Stopped : public Error {
public:
  using Error::Error;
};

/// What all launchers go by when a run has failed: the root's word.
struct LastWord {
  std::string checkpoint; ///< the last that the run has saved, or empty
  bool isStopped = false; ///< somebody wants it to end
};

/// The end of a run that another launcher reports.
class RemoteError : public Error {
public:
  RemoteError(ExitCode code, const std::string &text, const LastWord &word) : Error(code, text), word(word) {}
  LastWord word;
};

class Cluster {
public:
  /// Everything handed in has to outlive the cluster.
  static std::unique_ptr<Cluster> make(const Placement &placement, const Build &build, const Control &control,
                                       const RunFacts &facts);
  virtual ~Cluster() = default;

  /// A step on the way to all launchers being connected; true: they are. Throws when the deadline is over.
  virtual bool join() = 0;
  /// What the root says of its files, after joining.
  virtual RunFacts agreed() const = 0;

  /// What to wait for.
  virtual std::vector<pollfd> sockets() const = 0;
  /// Takes what has come and sends what has changed; throws what ends the run elsewhere.
  virtual void exchange() = 0;
  /// Lets the ranks of all launchers start.
  virtual void start() = 0;
  /// The ranks of this launcher are done: goes on until all are.
  virtual bool finish() = 0;
  /// Tells the others of the failure of this launcher; true: somebody else reports it. `word` is the root's, and becomes so on the others.
  virtual bool fail(const Error &error, LastWord &word) = 0;
};

/// This machine's name.
std::string hostName();

} // namespace p3d
