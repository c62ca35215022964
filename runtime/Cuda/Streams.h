// The streams of a rank and the events between them. A step's order begins and ends on the compute stream: another
// stream waits for the beginning when it is first used, and the end waits for all that were used.
#pragma once
#include "runtime/Cuda/Owners.h"
#include "runtime/include/p3d/runtime.h"
#include <vector>

namespace p3d {

class Streams {
public:
  static constexpr int count = P3D_STREAM_TURNED_BACKWARD + 1;

  /// `events`: how many the program numbers.
  explicit Streams(int events);

  CUstream compute() const { return streams[P3D_STREAM_COMPUTE].get(); }
  CUstream handleOf(int stream) const { return streams[stream].get(); }
  /// A stream for new work.
  CUstream use(int stream);

  void record(int event, int stream);
  void wait(int event, int stream);

  /// How long the compute stream has stood still in waits. Called when it is idle.
  void takeStalls();
  int64_t stalledNs() const { return stalled; }

  /// From here on work of other streams comes after that of the compute stream. Events that the program records from
  /// here on are the only ones that it waits for.
  void fork();
  /// What the compute stream does next comes after the work of all streams.
  void join();
  /// Between the two, work of all streams is noted in a graph instead of being done.
  void beginCapture();
  Graph endCapture();
  bool isCapturing() const { return capturing; }
  /// Waits for all streams and leaves errors out of account: for destructors.
  void settle() noexcept;

private:
  /// One wait of the compute stream.
  struct Stall {
    Event before, after;
  };
  Stall &nextStall();
  CUevent eventOf(int number) const;
  Stream streams[count];
  Event joined[count];
  Event start;
  bool isUsed[count] = {}, capturing = false;
  std::vector<bool> isRecorded;
  std::vector<Event> events;
  std::vector<Stall> stalls;
  size_t openStalls = 0;
  int64_t stalled = 0;
};

} // namespace p3d
