// Rank processes with an emulated device each. What a rank sees is memory of its own, copied to the device before each
// call and back after it: the collectives of all transports have the same tests.
#include "test/unit/runtime/World.h"
#include "runtime/Comm/Nccl/NcclTransport.h"
#include "runtime/DType.h"
#include <cstring>

namespace p3d::test {

namespace {

class MirroredTransport : public Transport {
public:
  MirroredTransport(const Program &program, int rank, const Control &control, int64_t timeoutNs)
      : program(program), rank(rank), control(control), device(program, rank, {p3d_library_images}),
        watchdog(program, rank, control, device.context, timeoutNs), ids(control, rank),
        memory(size_t(program.arenaBytes)) {}

  char *arena() { return memory.data(); }

  void allReduce(p3d_axis axis, int group, p3d_reduce_kind kind, p3d_dtype dtype, void *data, int64_t count) override {
    ArenaRange range{static_cast<char *>(data) - memory.data(), count * info(dtype).bytes};
    mirror(range, [&](Transport &on) { on.allReduce(axis, group, kind, dtype, there(data), count); });
  }
  void allGather(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int64_t outer, int64_t chunk, int64_t full,
                 int64_t inner) override {
    mirror([&](Transport &on) { on.allGather(axis, dtype, there(src), there(dst), outer, chunk, full, inner); });
  }
  void reduceScatter(p3d_axis axis, p3d_reduce_kind kind, p3d_dtype dtype, const void *src, void *dst, int64_t outer,
                     int64_t chunk, int64_t full, int64_t inner) override {
    mirror(
        [&](Transport &on) { on.reduceScatter(axis, kind, dtype, there(src), there(dst), outer, chunk, full, inner); });
  }
  void allToAll(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int dims, const int64_t *shape,
                int gatherDim, int64_t gatherChunk, int splitDim, int64_t splitChunk) override {
    mirror([&](Transport &on) {
      on.allToAll(axis, dtype, there(src), there(dst), dims, shape, gatherDim, gatherChunk, splitDim, splitChunk);
    });
  }
  void sumOverNorm(double *value) override {
    mirror([&](Transport &on) { on.sumOverNorm(static_cast<double *>(there(value))); });
  }
  void send(int toStage, int value, int64_t mb, int64_t slot, const void *data, int64_t bytes) override {
    mirror([&](Transport &on) { on.send(toStage, value, mb, slot, there(data), bytes); });
  }
  void receive(int fromStage, int value, int64_t mb, void *data, int64_t bytes) override {
    mirror([&](Transport &on) { on.receive(fromStage, value, mb, there(data), bytes); });
  }
  void finishSends(int64_t slot) override {
    mirror([&](Transport &on) { on.finishSends(slot); });
  }
  void finishAllSends() override {}
  int64_t waitedNs() const override { return 0; }

private:
  void *there(const void *here) { return device.arena() + (static_cast<const char *>(here) - memory.data()); }
  void mirror(const std::function<void(Transport &)> &call) { mirror({0, program.arenaBytes}, call); }
  void mirror(ArenaRange range, const std::function<void(Transport &)> &call) {
    if (!transport) // the program may be changed before the first call
      transport = std::make_unique<NcclTransport>(program, rank, control, device, watchdog, ids);
    char *here = memory.data() + range.offset;
    device.write({range}, [&](const HostRanges &host) { std::memcpy(host[0], here, size_t(range.bytes)); });
    device.runOrder([&] { call(*transport); });
    device.read({range}, [&](const HostRanges &host) { std::memcpy(here, host[0], size_t(range.bytes)); });
  }

  const Program &program;
  int rank;
  const Control &control;
  CudaDevice device;
  Watchdog watchdog;
  ControlIdExchange ids;
  std::vector<char> memory;
  std::unique_ptr<NcclTransport> transport;
};

class Devices : public WorldLinks {
public:
  void connect(int rank, const Program &program, const Control &control, int64_t timeoutNs,
               const std::function<void(const WorldLink &)> &body) const override {
    MirroredTransport transport(program, rank, control, timeoutNs);
    body({transport.arena(), transport, [](p3d_dtype dtype) { return dtype != P3D_I16 && dtype != P3D_UI16; }});
  }
};

} // namespace

std::unique_ptr<WorldLinks> makeWorldLinks(int, int64_t) { return std::make_unique<Devices>(); }

} // namespace p3d::test
