// What a way of communicating has to do; the services of runtime.h call it.
// Collectives block until the buffers of the calling rank may be reused; their
// arguments mean what runtime.h says.
#pragma once
#include "runtime/include/p3d/runtime.h"

namespace p3d {

class Transport {
public:
  virtual ~Transport() = default;

  virtual void allReduce(p3d_axis axis, int group, p3d_reduce_kind kind,
                         p3d_dtype dtype, void *data, int64_t count) = 0;
  virtual void allGather(p3d_axis axis, p3d_dtype dtype, const void *src,
                         void *dst, int64_t outer, int64_t chunk, int64_t full,
                         int64_t inner) = 0;
  virtual void reduceScatter(p3d_axis axis, p3d_reduce_kind kind,
                             p3d_dtype dtype, const void *src, void *dst,
                             int64_t outer, int64_t chunk, int64_t full,
                             int64_t inner) = 0;
  virtual void allToAll(p3d_axis axis, p3d_dtype dtype, const void *src,
                        void *dst, int rank, const int64_t *shape,
                        int gatherDim, int64_t gatherChunk, int splitDim,
                        int64_t splitChunk) = 0;
  /// In place, over the norm group, the same bits on each rank. `value` is where
  /// tasks have their data: on a device, device memory.
  virtual void sumOverNorm(double *value) = 0;

  virtual void send(int toStage, int value, int64_t mb, int64_t slot,
                    const void *data, int64_t bytes) = 0;
  virtual void receive(int fromStage, int value, int64_t mb, void *data,
                       int64_t bytes) = 0;
  /// Waits until the receivers have copied what was sent from `slot`.
  virtual void finishSends(int64_t slot) = 0;
  virtual void finishAllSends() = 0;

  /// Time spent waiting for others since the start, and in collectives over shared memory.
  virtual int64_t waitedNs() const = 0;
};

} // namespace p3d
