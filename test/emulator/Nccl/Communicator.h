// A communicator: this rank's part of collectives and grouped transfers, run by a thread that may wait: what carries
// them (Carrier.h) has one.
#pragma once
#include "test/emulator/Nccl/Board.h"
#include "test/emulator/Nccl/Reduction.h"
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace p3d::emulator {

enum class CollectiveKind { AllReduce, AllGather, ReduceScatter, Broadcast, Reduce };

struct Collective {
  CollectiveKind kind;
  const char *from;
  char *to;
  size_t count; ///< as the call has it: of the smaller side
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
};

/// One send or receive.
struct Transfer {
  bool isSend;
  char *address;
  size_t count;
  ncclDataType_t type;
  int peer;
};

std::string describe(const Collective &collective);
std::string describe(const Transfer &transfer);

/// The way between a rank's device and memory of the host. Both directions are done when they return.
class Mover {
public:
  virtual ~Mover() = default;
  virtual void toHost(void *to, const char *from, size_t bytes) = 0;
  virtual void toDevice(char *to, const void *from, size_t bytes) = 0;
};

class Communicator {
public:
  Communicator(const std::string &boardName, std::string name, int ranks, int rank, std::unique_ptr<Mover> mover);

  /// Waits until all ranks have joined; false if it was aborted. Faults on a second rank of the same number and when a
  /// rank does not come in time.
  bool join();

  /// The place of the next command in this rank's order; commands run in it, whatever stream they are on.
  uint64_t nextTicket() { return ++tickets; }
  void run(const Collective &collective, uint64_t ticket);
  void run(const std::vector<Transfer> &transfers, uint64_t ticket);

  /// Whoever waits stops, and everything later does nothing.
  void abort();
  /// ncclRemoteError once a peer was found dead.
  ncclResult_t asyncError() const { return error; }

  const std::string name;
  const int ranks, rank;

private:
  /// Holds the lock for one command, after those that the host gave before it.
  class Turn {
  public:
    Turn(Communicator &communicator, uint64_t ticket);
    ~Turn();

  private:
    Communicator &communicator;
  };
  bool waitFor(const std::string &what, const std::function<bool()> &isDone,
               const std::function<bool(int)> &hasArrived);
  void setActivity(const std::string &text);
  std::string who(int rank) const;
  bool begin(const Collective &collective);
  bool meet(const std::string &what);
  bool waitForAll(const std::string &what, const std::function<bool(int)> &hasArrived);
  void bring(const Collective &collective, const char *kept, size_t at, size_t count);
  void reduceShare(const Collective &collective, size_t count);
  void take(const Collective &collective, size_t at, size_t count);
  bool progress(const Transfer &transfer, size_t &done, bool &isFinished);
  [[noreturn]] void reportTimeout(const std::string &what, const std::function<bool(int)> &hasArrived);

  Board board;
  std::unique_ptr<Mover> mover;
  std::atomic<uint64_t> tickets{0};
  std::mutex turnMutex;
  std::condition_variable turnChanged;
  uint64_t finished = 0; // tickets
  int set = 0;           // of stagings, for the chunk that is moved
  std::atomic<bool> isAborted{false};
  std::atomic<ncclResult_t> error{ncclSuccess};
};

} // namespace p3d::emulator
