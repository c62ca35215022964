// Benches of kernels on a device. A line is a call of a kernel of kernels/CudaKernels.h, timed by events, beside a peer
// that is timed in the same run: a copy of the same bytes for what memory bounds, cuBLASLt for products.
#pragma once
#include "runtime/Cuda/Einsum.h"
#include "test/gpu/TestDevice.h"
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace p3dbench {

/// A layer's sizes; those of the tests' runs are tiny.
struct Model {
  const char *name;
  int64_t batch, length, width, inner, heads, keyHeads, headColumns, vocabulary;
  int64_t tokens() const { return batch * length; }
};
Model gpt2();   ///< GPT-2 124M
Model llama3(); ///< Llama-3-8B
/// Whether sizes are tiny, for the emulated driver.
bool isTiny();
void setTiny();

/// The device, with what all lines share.
class Bench {
public:
  explicit Bench(p3dtest::TestDevice &device);

  p3d_launcher *launcher() { return &device.launcher; }
  CUstream stream() { return device.stream.get(); }
  /// One of `run` in seconds, by events around as many as take about a millisecond.
  double seconds(const std::function<void()> &run);

  /// The product c = a b by cuBLASLt; a DeviceError if it has no algorithm for it.
  std::function<void()> byCublasLt(const p3d_einsum_plan &plan, int32_t dtype, const void *a, const void *b, void *c);

  p3dtest::TestDevice &device;

private:
  double secondsOf(const std::function<void()> &run, int calls);
  p3d::Event start, end;
  p3d::Einsum einsum;
  std::deque<p3d_einsum_plan> plans; ///< einsum knows them by their addresses
};

/// Device memory of one line.
class Memory {
public:
  explicit Memory(Bench &bench) : bench(bench) {}
  /// Values around 0 that do not repeat within a row.
  char *tensor(int32_t dtype, int64_t count, unsigned seed = 1);
  float *floats(int64_t count, unsigned seed = 1) { return reinterpret_cast<float *>(tensor(P3D_F32, count, seed)); }
  float *filled(int64_t count, float value);
  /// Skewed over [0, limit).
  int32_t *ids(int64_t count, int64_t limit);
  template <typename T> T *copyOf(const std::vector<T> &values) {
    return static_cast<T *>(upload(values.data(), int64_t(values.size() * sizeof(T))));
  }

  Bench &bench;

private:
  char *take(int64_t bytes);
  void *upload(const void *from, int64_t bytes);
  std::vector<p3d::DeviceMemory> owned;
};

/// What a line does once, and what its peer does.
struct Work {
  std::function<void()> run;
  double amount; ///< bytes read and written, or floating-point operations
  bool isFlops;
  std::string peerName;
  std::function<void()> peer;
  double peerAmount;
};
/// Bounded by memory: beside a copy on the device that reads and writes as many bytes.
Work moving(Memory &memory, double bytes, std::function<void()> run);

using Prepare = std::function<Work(Memory &)>;
/// Registers a line; `kernel` is the call's name, `form` its sizes and types.
void addLine(const std::string &kernel, const std::string &form, Prepare prepare);
std::string typeName(int32_t dtype);

void addRowLines();
void addFusedLines();
void addIndexLines();
void addUpdateLines();
void addProductLines();

/// Runs what is registered, by the flags of Google Benchmark; how many lines failed.
int runLines(Bench &bench);

} // namespace p3dbench
