// Runs one kernel's grid in the calling thread: block after block; a block whose threads never wait for each other is a
// loop, else each thread is a fibre that runs until it waits. One executor serves one host thread and keeps its stacks.
#pragma once
#include "test/emulator/Kernel/ThreadContext.h"
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace p3d::emulator {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  size_t count() const { return size_t(x) * y * z; }
};

/// A launch that failed; the text names the kernel, the block and the threads.
class KernelError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Is told of each access outside the block's shared memory and the threads' stacks; returns what is wrong with it, or
/// nothing. Called from a fibre: it must not throw.
class AccessChecker {
public:
  virtual ~AccessChecker() = default;
  virtual const char *check(const void *address, size_t bytes, P3dAccessKind kind) = 0;
};

struct Launch {
  const P3dKernel *kernel;
  Dim3 grid, block;
  size_t sharedBytes; ///< dynamic
  void **arguments;
  AccessChecker *checker = nullptr;
};

class Executor {
public:
  Executor();
  ~Executor();
  /// Throws KernelError, after which the executor may be used again.
  void run(const Launch &launch);

  struct State;

private:
  std::unique_ptr<State> state;
};

} // namespace p3d::emulator
