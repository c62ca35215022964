// The control region: one memfd that the launcher makes and every rank maps. It
// holds what ranks tell each other and the launcher: where each one is, calls
// of collectives, posted messages, records of steps, and the first failure.
// Everything in it is plain data or a lock-free atomic; the pages of unused
// tables are never touched, so never allocated.
#pragma once
#include "runtime/Error.h"
#include "runtime/Launches.h"
#include <atomic>
#include <cstdint>
#include <string>

namespace p3d {

constexpr int textBytes = 160;
constexpr int maxResults = 32;
constexpr int stepRing = 16; ///< steps that ranks may be ahead of the launcher
constexpr int maxCommunicators = 512;
constexpr int maxWorkers = 64; ///< at one collective; fewer can use up a machine's memory bandwidth
constexpr int maxMessages = 2048;
constexpr int maxShapeRank = 12;
constexpr int maxStages = 256;

/// What a rank is doing; the launcher and late peers' reports read it.
enum class Activity : uint32_t {
  Starting,
  Running,
  InCollective,
  Receiving,
  AwaitingReceiver,
  AwaitingLauncher,
  Finished,
};

/// Work that members share: what is left, and the next part of each worker to be claimed.
struct SharedParts {
  std::atomic<uint32_t> round; ///< the meeting whose parts these are
  std::atomic<uint32_t> left;
  int32_t workers;
  std::atomic<uint32_t> next[maxWorkers];
};

/// Where the members of one communicator meet; lives in the area of its lowest rank.
struct alignas(64) CommunicatorState {
  std::atomic<uint64_t> key; ///< 0: unused
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> rounds; ///< meetings that are over
  std::atomic<uint32_t> changes; ///< what members sleep on
  SharedParts parts;
};

/// The unique id of a communicator of NCCL; lives in the area of its lowest rank.
struct UniqueId {
  std::atomic<uint64_t> key; ///< 0: unused
  std::atomic<uint32_t> isGiven;
  char bytes[128];
};

enum class CallKind : int32_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  SumScalar,
};

/// The arguments of the collective that a rank is in. What every kind has fits into the first cache line, so that
/// whoever looks at all members reads one of each.
struct alignas(64) Call {
  uint64_t communicator, sequence;
  CallKind kind;
  int32_t dtype, reduce, axis;
  int64_t source, destination; ///< offsets in the caller's arena
  int64_t outer;
  double scalar;
  int64_t chunk, full, inner; ///< of all_gather and reduce_scatter
  int32_t shapeRank, gatherDim, splitDim; ///< and the rest: of all_to_all
  int64_t shape[maxShapeRank], gatherChunk, splitChunk;
  uint64_t stages[maxStages / 64]; ///< members of a tied group, as bits
};

/// A posted transfer, in the area of its sender until the receiver has copied.
struct Message {
  std::atomic<uint32_t> posted;
  int32_t to, value;
  int64_t mb, slot, offset, bytes;
};

/// Whom a rank waited for beyond the deadline, as its launcher describes it.
enum class LateKind : int32_t { None, Collective, Transfer };
struct LateWait {
  LateKind kind;
  int32_t peer; ///< of a transfer
  int64_t timeoutNs;
  char transfer[textBytes]; ///< what it is
};

/// What a checkpoint holds beside tensors.
struct SavedProgress {
  int64_t updates; ///< of the optimizer: steps that were not skipped
  double lossScale; ///< of the next step
  int64_t goodSteps; ///< at this scale
};

/// A number that is not finite, and where a rank came upon it first.
struct NotFinite {
  uint32_t isFound;
  uint32_t isMasking; ///< a negative infinity
  int64_t ns;
  char text[2 * textBytes];
};

struct StepRecord {
  int64_t step, startNs, endNs, waitNs;
  double learningRate, gradNorm; ///< gradNorm is -1 if it was not computed
  double lossScale;              ///< 0 where the loss is not scaled
  double results[maxResults];
  double evaluation[maxResults]; ///< means over the second file, if isEvaluated
  int64_t evaluationNs;          ///< behind endNs
  uint32_t isEvaluated;
  uint32_t skipped; ///< the norm was not finite: nothing was updated
  NotFinite notFinite; ///< of a step that was skipped
  Launches launches;
  int64_t memoryBytes; ///< of the arena, in use
};

/// Where a rank is to be found by ranks of other hosts; written before any is started.
struct Endpoint {
  int32_t launcher; ///< ranks of the same one share memory
  int32_t port, listeningFd; ///< the descriptor only where the rank is
  char address[64];
};

struct alignas(4096) RankArea {
  // Where the rank is.
  std::atomic<int64_t> step;
  std::atomic<uint32_t> activity;
  std::atomic<int32_t> waitsFor; ///< rank, for Receiving and AwaitingReceiver
  std::atomic<int64_t> mb;
  std::atomic<int64_t> heardNs; ///< when its launcher, of another host, last said where it is; else 0
  char task[textBytes], operation[textBytes];
  std::atomic<int32_t> pid;
  Endpoint endpoint;
  /// The device, by a name that no other of its host has; written before
  /// isReady.
  char host[textBytes], device[textBytes];
  std::atomic<uint32_t> isReady; ///< to go on once mayStart is set
  // Collectives.
  Call call;
  // Steps done; the launcher counts those it has read in its header.
  std::atomic<uint32_t> stepsDone;
  StepRecord records[stepRing];
  // The last step whose state this rank has written for a checkpoint, or failed to.
  std::atomic<int64_t> saved;
  SavedProgress savedProgress; ///< behind that step
  char saveFailure[1024]; ///< empty if it was written
  // Transfers. A word counts events and is what its owner sleeps on.
  alignas(64) std::atomic<uint32_t> inbox;
  alignas(64) std::atomic<uint32_t> acknowledged;
  alignas(64) std::atomic<uint32_t> outboxUsed; ///< messages ever used
  Message outbox[maxMessages];
  CommunicatorState communicators[maxCommunicators];
  UniqueId uniqueIds[maxCommunicators];
};

struct alignas(4096) ControlHeader {
  uint64_t magic, bytes;
  uint64_t run; ///< the same for all launchers of this run, and for no other
  int32_t worldSize, eventFd;
  std::atomic<uint32_t> failed; ///< 0 no, 1 being written, 2 readable
  int32_t failedRank, failureCode;
  LateWait late; ///< the wait that failed, if it was one
  char failure[4096];
  std::atomic<uint32_t> stepsRead;
  std::atomic<uint32_t> mayStart; ///< all ranks are ready
  std::atomic<uint32_t> checkpoints; ///< that the launcher has completed, or given up
  int64_t optionsBytes;
  char options[1 << 22]; ///< with a rule for each parameter
  int32_t arenaFds[1]; ///< worldSize of them, up to the first RankArea
};

/// A mapping of the control region.
class Control {
public:
  /// A new region in a memfd, zero but for its sizes.
  static Control create(int worldSize);
  /// Maps the region behind `fd`; throws if it is not one.
  static Control open(int fd);
  Control(Control &&other) noexcept;
  ~Control();

  int fd() const { return fileDescriptor; }
  int worldSize() const { return head->worldSize; }
  ControlHeader &header() const { return *head; }
  RankArea &rank(int rank) const { return areas[rank]; }
  /// The place of the id that `first` gives under `key`; an unused one if there
  /// is none yet.
  UniqueId &uniqueId(int first, uint64_t key) const;

  /// Records the first failure of the run; later ones are consequences.
  void reportFailure(int rank, ExitCode code, const std::string &text,
                     const LateWait &late = {}) const;
  bool shareMemory(int one, int other) const {
    return rank(one).endpoint.launcher == rank(other).endpoint.launcher;
  }
  /// Lets the launcher look at what has changed.
  void wakeLauncher() const;

private:
  Control(int fd, void *base, size_t bytes);
  int fileDescriptor;
  size_t bytes;
  ControlHeader *head;
  RankArea *areas;
};

/// Copies at most `size` - 1 characters.
void copyText(char *target, size_t size, const std::string &text);
template <size_t size>
void setText(char (&target)[size], const std::string &text) {
  copyText(target, size, text);
}

} // namespace p3d
