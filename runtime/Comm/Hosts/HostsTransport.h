// Communication of ranks on several hosts: over shared memory where all who take part share it, else over TCP.
#pragma once
#include "runtime/Comm/Hosts/Connections.h"
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"

namespace p3d {

class HostsTransport : public Transport {
public:
  /// Connects to the ranks of other hosts that this one has groups with. Everything handed in has to outlive the
  /// transport.
  HostsTransport(const Program &program, int rank, const Control &control, Arenas &arenas, int64_t timeoutNs);

  void allReduce(p3d_axis axis, int group, p3d_reduce_kind kind, p3d_dtype dtype, void *data, int64_t count) override;
  void allGather(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int64_t outer, int64_t chunk, int64_t full,
                 int64_t inner) override;
  void reduceScatter(p3d_axis axis, p3d_reduce_kind kind, p3d_dtype dtype, const void *src, void *dst, int64_t outer,
                     int64_t chunk, int64_t full, int64_t inner) override;
  void allToAll(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int rank, const int64_t *shape,
                int gatherDim, int64_t gatherChunk, int splitDim, int64_t splitChunk) override;
  void sumOverNorm(double *value) override;
  void send(int toStage, int value, int64_t mb, int64_t slot, const void *data, int64_t bytes) override;
  void receive(int fromStage, int value, int64_t mb, void *data, int64_t bytes) override;
  void finishSends(int64_t slot) override;
  void finishAllSends() override;
  int64_t waitedNs() const override { return local.waitedNs() + waited; }

private:
  /// One meeting of the members of a group that spans hosts: what they send each other, in parts.
  class Meeting;

  /// The group if it spans hosts, else null.
  Communicator *spanning(p3d_axis axis, int group);
  std::vector<int> peers();
  int rankOfStage(int stage) const;
  void finishSendsWhere(const std::function<bool(int64_t slot)> &concerned);
  /// Waits in `activity` until `ready()`, which depends on `peers`; `late` says for whom when the deadline is over.
  void wait(Activity activity, const std::vector<int> &peers, const std::function<bool()> &ready,
            const std::function<LateWait()> &late);

  struct Sent {
    int to, value;
    int64_t mb, slot;
  };

  const Program &program;
  const int rank;
  const Coordinates at;
  const Control &control;
  Arenas &arenas;
  const int64_t timeoutNs;
  SharedMemoryTransport local;
  int64_t waited = 0;
  std::map<std::pair<p3d_axis, int>, std::unique_ptr<Communicator>> groups;
  std::vector<Sent> sent; ///< to ranks of other hosts, which may not have it yet
  Connections connections;
};

} // namespace p3d
