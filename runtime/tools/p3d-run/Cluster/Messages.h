// What launchers tell each other. Plain data in the byte order of the machine: a first message with another magic
// number ends the connection.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include <climits>

namespace p3d {

enum class MessageKind : uint32_t { Hello, Welcome, Endpoint, Ready, Id, Place, Record, Saved, Read, Start, Failure, Finished, End };

/// From every launcher but the root: who it is, and what has to be equal everywhere.
struct HelloMessage {
  static constexpr MessageKind kind = MessageKind::Hello;
  static constexpr uint64_t magicNumber = 0x3172657473756c63;
  uint64_t magic, options; ///< options: a hash
  int32_t worldSize, firstRank, rankCount;
  char fingerprint[textBytes], host[textBytes];
};

/// From the root when all are there; the files of outputs are on its host.
struct WelcomeMessage {
  static constexpr MessageKind kind = MessageKind::Welcome;
  uint64_t run;   ///< for connections of ranks
  int64_t rootNs; ///< its clock
  char exportFile[PATH_MAX], gradientsFile[PATH_MAX];
};

/// Where a rank of the CPU target is to be found. To the root, and from it, before its welcome, to all others; an
/// address that is empty is that of the sender.
struct EndpointMessage {
  static constexpr MessageKind kind = MessageKind::Endpoint;
  int32_t rank;
  Endpoint endpoint;
  char host[textBytes];
};

struct ReadyMessage {
  static constexpr MessageKind kind = MessageKind::Ready;
  int32_t rank;
  char host[textBytes], device[textBytes];
};

struct IdMessage {
  static constexpr MessageKind kind = MessageKind::Id;
  int32_t rank;
  uint64_t key;
  char bytes[sizeof(UniqueId::bytes)];
};

/// Where a rank is, for reports; also the sign that its launcher is alive.
struct PlaceMessage {
  static constexpr MessageKind kind = MessageKind::Place;
  int32_t rank, waitsFor;
  uint32_t activity;
  int64_t step, mb;
  char task[textBytes], operation[textBytes];
  Call call;
};

struct RecordMessage {
  static constexpr MessageKind kind = MessageKind::Record;
  int32_t rank;
  uint32_t index;
  StepRecord record;
};

/// The last step whose state a rank has written for a checkpoint, or failed to.
struct SavedMessage {
  static constexpr MessageKind kind = MessageKind::Saved;
  int32_t rank;
  int64_t step;
  char failure[sizeof(RankArea::saveFailure)];
};

/// From the root: how many steps it has read, and checkpoints completed or given up. Also the sign that it is alive.
struct ReadMessage {
  static constexpr MessageKind kind = MessageKind::Read;
  uint32_t steps, checkpoints;
};

/// From the root: the ranks may go on from where they are ready.
struct StartMessage {
  static constexpr MessageKind kind = MessageKind::Start;
  uint32_t unused;
};

/// To the root: what ended a rank. From the root: that all have to end.
struct FailureMessage {
  static constexpr MessageKind kind = MessageKind::Failure;
  int32_t rank, code, isStopped;
  LateWait late;
  char text[sizeof(ControlHeader::failure)];
  char checkpoint[sizeof(ControlHeader::failure)]; ///< from the root: the last that the run has saved
};

/// All ranks of this launcher are done.
struct FinishedMessage {
  static constexpr MessageKind kind = MessageKind::Finished;
  uint32_t unused;
};

/// From the root: all ranks are done.
struct EndMessage {
  static constexpr MessageKind kind = MessageKind::End;
  uint32_t unused;
};

} // namespace p3d
