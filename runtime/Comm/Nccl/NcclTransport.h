// Communication between GPUs: NCCL on one stream for each axis, two for the stages of a pipeline (four with chunks), so
// that transfers of the two directions and passes cannot block each other. Operations are enqueued; their order against other streams is the
// program's.
#pragma once
#include "runtime/Comm/Nccl/IdExchange.h"
#include "runtime/Comm/Nccl/NcclLibrary.h"
#include "runtime/Comm/Transport.h"
#include "runtime/Cuda/CudaDevice.h"
#include "runtime/Cuda/Watchdog.h"

namespace p3d {

class NcclTransport : public Transport {
public:
  /// Makes the communicators, in the same order on every rank. Everything handed in has to outlive the transport.
  NcclTransport(const Program &program, int rank, const Control &control, CudaDevice &device, Watchdog &watchdog,
                IdExchange &ids);
  ~NcclTransport() override { watchdog.forgetChecks(); }

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
  /// The end of the order waits for all streams.
  void finishAllSends() override;
  /// Of the compute stream, for other streams.
  int64_t waitedNs() const override { return device.streams.stalledNs(); }

private:
  struct Group {
    Communicator identity;
    int stream;
    NcclCommunicator communicator; ///< none for a group of one
    NcclRegistration arena;        ///< ends before the communicator
    int size() const { return int(identity.members().size()); }
  };
  /// The last send from a slot in one direction.
  struct Sent {
    Event event;
    bool isOpen = false;
  };

  void connect(Group &group, const std::string &name, IdExchange &ids);
  Group &groupOf(p3d_axis axis, int index);
  /// Watches `enqueue`, which puts a collective on the stream.
  void collective(Group &group, CallKind kind, const std::function<void(CUstream)> &enqueue);
  /// Watches `enqueue`, unless it only goes into a graph.
  void enqueueWatched(CUstream stream, const Operation &operation, const std::function<void()> &enqueue);
  int peerOf(int stage) const;
  /// The line of a transfer to a later stage, or to an earlier one.
  Group &lineOf(int value, bool goesToLater);

  const Program &program;
  const int rank;
  const Coordinates at;
  const Control &control;
  CudaDevice &device;
  Watchdog &watchdog;
  std::unique_ptr<Group> forward, backward, turnedForward, turnedBackward;
  std::map<std::pair<p3d_axis, int>, std::unique_ptr<Group>> groups;
  std::map<std::pair<int64_t, int>, Sent> sent; ///< by slot and stream
};

/// How NCCL names an element type for reductions, and an operation; a user error for what it cannot reduce.
ncclDataType_t ncclTypeOf(p3d_dtype dtype);
ncclRedOp_t ncclOperationOf(p3d_reduce_kind kind, p3d_dtype dtype);

} // namespace p3d
