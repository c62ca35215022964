// What the launchers share: typed arguments, sizes of grids, kernel names, refusals.
#pragma once
#include "kernels/CudaKernels.h"
#include <algorithm>
#include <string>

namespace p3d {

struct Grid {
  int64_t x = 1, y = 1, z = 1;
};

inline int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// One call's launcher and stream.
class Launch {
public:
  Launch(p3d_launcher *launcher, void *stream) : launcher(launcher), stream(stream) {}

  /// Launches with these arguments; their types must be those of the kernel's parameters. An empty grid is no launch.
  template <typename... Arguments>
  void run(const std::string &kernel, Grid grid, uint32_t threads, int64_t sharedBytes, Arguments... arguments) {
    runBlocks(kernel, grid, threads, 1, sharedBytes, arguments...);
  }
  template <typename... Arguments>
  void runBlocks(const std::string &kernel, Grid grid, uint32_t threadsX, uint32_t threadsY, int64_t sharedBytes,
                 Arguments... arguments) {
    void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))...};
    const uint32_t bytes[] = {sizeof(Arguments)...};
    enqueue(kernel, grid, threadsX, threadsY, sharedBytes, pointers, bytes, sizeof...(Arguments));
  }

  void *workspace(int64_t bytes) { return launcher->workspace(launcher, stream, bytes); }
  /// Tells the launcher that there is no kernel for a call; false, for the caller to return.
  bool refuse(const std::string &message) {
    launcher->refuse(launcher, message.c_str());
    return false;
  }

  /// Whether `dtype` is a floating type of 32 or 16 bits; else refuses.
  bool takes(const char *kernel, int32_t dtype);
  /// The same for a parameter, which is f32 or of the tensors' type.
  bool takesParameter(const char *kernel, int32_t dtype, int32_t paramDtype);
  /// Whether a size fits in 32 bits; else refuses.
  bool fits(const char *kernel, const char *what, int64_t size);

  int multiprocessors() const { return launcher->multiprocessors; }
  int64_t sharedBytesPerBlock() const { return launcher->sharedBytesPerBlock; }

private:
  void enqueue(const std::string &kernel, Grid grid, uint32_t threadsX, uint32_t threadsY, int64_t sharedBytes,
               void **arguments, const uint32_t *bytes, uint32_t count);

  p3d_launcher *launcher;
  void *stream;
};

/// p3d_x -> p3d_x_bf16.
std::string kernelFor(const char *kernel, int32_t dtype);
inline int elementBytes(int32_t dtype) { return dtype == P3D_F32 ? 4 : 2; }
/// Elements in the 16 bytes that a thread moves at once.
inline int chunkElements(int32_t dtype) { return 16 / elementBytes(dtype); }

/// Threads of a block that has one row: two chunks for each, whole warps, at most `most`.
uint32_t rowThreads(int32_t dtype, int64_t cols, int64_t most);
/// Blocks for `work` items of one thread each in loops over the grid.
Grid loopGrid(const Launch &launch, int64_t work, int64_t threads);

} // namespace p3d
