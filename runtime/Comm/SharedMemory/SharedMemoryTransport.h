// Communication between the rank processes of one machine: barriers and
// mailboxes in the control region, data straight from the peers' arenas.
#pragma once
#include "runtime/Comm/SharedMemory/Communicator.h"
#include "runtime/Comm/SharedMemory/Work.h"
#include "runtime/Comm/Transport.h"
#include "runtime/Cpu/Arena.h"
#include <map>
#include <memory>

namespace p3d {

class SharedMemoryTransport : public Transport {
public:
  /// Everything handed in has to outlive the transport.
  SharedMemoryTransport(const Program &program, int rank,
                        const Control &control, Arenas &arenas,
                        int64_t timeoutNs);

  void allReduce(p3d_axis axis, int group, p3d_reduce_kind kind,
                 p3d_dtype dtype, void *data, int64_t count) override;
  void allGather(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst,
                 int64_t outer, int64_t chunk, int64_t full,
                 int64_t inner) override;
  void reduceScatter(p3d_axis axis, p3d_reduce_kind kind, p3d_dtype dtype,
                     const void *src, void *dst, int64_t outer, int64_t chunk,
                     int64_t full, int64_t inner) override;
  void allToAll(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst,
                int rank, const int64_t *shape, int gatherDim,
                int64_t gatherChunk, int splitDim, int64_t splitChunk) override;
  void sumOverNorm(double *value) override;
  void send(int toStage, int value, int64_t mb, int64_t slot, const void *data,
            int64_t bytes) override;
  void receive(int fromStage, int value, int64_t mb, void *data,
               int64_t bytes) override;
  void finishSends(int64_t slot) override;
  void finishAllSends() override;
  int64_t waitedNs() const override { return waited; }

private:
  Communicator &communicator(p3d_axis axis, int group);
  RankArea &self() { return control.rank(rank); }
  /// Publishes the call, and returns once all members have arrived and the work is done.
  void meet(Communicator &group, const Call &call, const Work &work);
  void awaitRound(Communicator &group, const std::function<bool()> &ready);
  void checkCalls(const Communicator &group);
  /// Waits in `activity`; `late` says for whom when the deadline is over.
  void wait(Activity activity, int waitsFor, std::atomic<uint32_t> &word,
            const std::function<bool()> &ready,
            const std::function<LateWait()> &late);
  /// The buffers of all members, in their order.
  std::vector<const char *> sources(const Communicator &group);
  std::vector<char *> destinations(const Communicator &group);
  int rankOfStage(int stage);
  Message &freeMessage();
  void finishSendsWhere(const std::function<bool(const Message &)> &concerned);

  const Program &program;
  const int rank;
  const Coordinates at;
  const Control &control;
  Arenas &arenas;
  const int64_t timeoutNs;
  const int cores;
  int64_t waited = 0;
  std::map<std::pair<p3d_axis, int>, std::unique_ptr<Communicator>> groups;
};

} // namespace p3d
