// Collectives beside the streams of any driver: an operation's stream records an event and waits for a number in pinned
// memory; the communicator's thread waits for the event, does the operation by copies on a stream of its own, and
// writes the number. No stream but the operation's waits, and no host function is used: those of all streams may share
// one thread.
#pragma once
#include "test/emulator/Nccl/Carrier.h"
#include "test/gpu/Nccl/DriverCalls.h"
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace p3dtest {

class DriverCarrier : public p3d::emulator::Carrier {
public:
  /// For the context that is current in this thread.
  explicit DriverCarrier(std::shared_ptr<p3d::emulator::Communicator> communicator);
  ~DriverCarrier() override;
  std::string carry(CUstream stream, const p3d::emulator::Collective &collective) override;
  std::string carry(CUstream stream, const std::vector<p3d::emulator::Transfer> &transfers) override;

private:
  struct Job {
    p3d::Event ready; ///< what the operation reads is there
    std::function<void()> run;
    uint32_t number; ///< that says it is done
  };
  std::string enqueue(CUstream stream, const std::function<void()> &run);
  p3d::Event takeEvent();
  void work();

  CUcontext context;
  p3d::PinnedMemory done;                ///< the number of the last operation that is done
  uint32_t last = 0;                     ///< of the operations that were begun; goes round
  std::map<CUstream, p3d::Event> passed; ///< each stream has gone on after its last operation
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  std::vector<p3d::Event> freeEvents;
  bool isEnding = false;
  std::thread worker;
};

} // namespace p3dtest
