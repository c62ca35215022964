#include "test/gpu/Nccl/DriverMover.h"
#include <algorithm>
#include <cstring>

using namespace p3d;

namespace p3dtest {

/// The largest piece that a communicator moves at once, so that most copies are one.
static constexpr size_t stagingBytes = emulator::collectiveChunk;

DriverMover::DriverMover() : stream(makeStream()), staging(allocatePinned(stagingBytes)) {}

void DriverMover::toHost(void *to, const char *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += stagingBytes) {
    size_t piece = std::min(stagingBytes, bytes - at);
    P3D_CU(cuMemcpyDtoHAsync, staging.get(), reinterpret_cast<CUdeviceptr>(from + at), piece, stream.get());
    P3D_CU(cuStreamSynchronize, stream.get());
    std::memcpy(static_cast<char *>(to) + at, staging.get(), piece);
  }
}

void DriverMover::toDevice(char *to, const void *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += stagingBytes) {
    size_t piece = std::min(stagingBytes, bytes - at);
    std::memcpy(staging.get(), static_cast<const char *>(from) + at, piece);
    P3D_CU(cuMemcpyHtoDAsync, reinterpret_cast<CUdeviceptr>(to + at), staging.get(), piece, stream.get());
    P3D_CU(cuStreamSynchronize, stream.get());
  }
}

} // namespace p3dtest
