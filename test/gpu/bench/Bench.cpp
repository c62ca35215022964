#include "test/gpu/bench/Bench.h"
#include "test/bench/Inputs.h"
#include <algorithm>
#include <benchmark/benchmark.h>

using namespace p3d;

namespace p3dbench {

static bool tiny = false;
bool isTiny() { return tiny; }
void setTiny() { tiny = true; }

Model gpt2() {
  return tiny ? Model{"gpt2", 2, 8, 24, 40, 2, 2, 12, 57} : Model{"gpt2", 32, 1024, 768, 3072, 12, 12, 64, 50257};
}
Model llama3() {
  return tiny ? Model{"llama3", 1, 8, 32, 48, 4, 2, 8, 64} : Model{"llama3", 2, 4096, 4096, 14336, 32, 8, 128, 128256};
}

std::string typeName(int32_t dtype) { return dtype == P3D_F32 ? "f32" : dtype == P3D_BF16 ? "bf16" : "f16"; }

/// A launcher for what must not need one.
static p3d_launcher *onlyCublasLt() {
  static p3d_launcher launcher = {[](p3d_launcher *, const char *kernel, void *, const uint32_t *, const uint32_t *,
                                     uint32_t, void **, const uint32_t *, uint32_t) {
                                    deviceError("cuBLASLt has no algorithm for this product: {} would do it", kernel);
                                  },
                                  [](p3d_launcher *, void *, int64_t) -> void * { return nullptr; },
                                  [](p3d_launcher *, const char *message) { deviceError("{}", message); }, 1, 48 << 10};
  return &launcher;
}

Bench::Bench(p3dtest::TestDevice &device)
    : device(device), start(makeEvent(true)), end(makeEvent(true)), einsum(onlyCublasLt(), device.stream.get()) {}

std::function<void()> Bench::byCublasLt(const p3d_einsum_plan &plan, int32_t dtype, const void *a, const void *b,
                                        void *c) {
  const p3d_einsum_plan *kept = &plans.emplace_back(plan);
  return [=] { einsum.run(kept, dtype, dtype, a, b, c, false); };
}

double Bench::secondsOf(const std::function<void()> &run, int calls) {
  P3D_CU(cuEventRecord, start.get(), stream());
  for (int i = 0; i < calls; ++i)
    run();
  P3D_CU(cuEventRecord, end.get(), stream());
  device.synchronize();
  float milliseconds = 0;
  P3D_CU(cuEventElapsedTime, &milliseconds, start.get(), end.get());
  return double(milliseconds) * 1e-3 / calls;
}

double Bench::seconds(const std::function<void()> &run) {
  if (tiny)
    return secondsOf(run, 1);
  double one = secondsOf(run, 1);
  return secondsOf(run, std::clamp(int(1e-3 / std::max(one, 1e-6)), 1, 100));
}

char *Memory::take(int64_t bytes) {
  owned.push_back(allocateDevice(bytes, "bench"));
  return reinterpret_cast<char *>(owned.back().get());
}

void *Memory::upload(const void *from, int64_t bytes) {
  char *to = take(bytes);
  P3D_CU(cuMemcpyHtoDAsync, reinterpret_cast<CUdeviceptr>(to), from, size_t(bytes), bench.stream());
  bench.device.synchronize();
  return to;
}

char *Memory::tensor(int32_t dtype, int64_t count, unsigned seed) {
  constexpr int64_t period = 1000003; // a prime: no row is like another
  std::vector<char> values = p3dbench::tensor(dtype, std::min(count, period), seed);
  int64_t bytes = count * p3d::elementSize(dtype), done = int64_t(values.size());
  char *to = take(bytes);
  CUdeviceptr at = reinterpret_cast<CUdeviceptr>(to);
  P3D_CU(cuMemcpyHtoDAsync, at, values.data(), values.size(), bench.stream());
  for (; done < bytes; done += std::min(done, bytes - done)) // what is there once more
    P3D_CU(cuMemcpyDtoDAsync, at + CUdeviceptr(done), at, size_t(std::min(done, bytes - done)), bench.stream());
  bench.device.synchronize();
  return to;
}

float *Memory::filled(int64_t count, float value) { return copyOf(std::vector<float>(size_t(count), value)); }

int32_t *Memory::ids(int64_t count, int64_t limit) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(int32_t(i * i * 31 % limit));
  return copyOf(values);
}

Work moving(Memory &memory, double bytes, std::function<void()> run) {
  auto half = int64_t(bytes / 2);
  CUdeviceptr from = reinterpret_cast<CUdeviceptr>(memory.tensor(P3D_F32, half / 4 + 1)),
              to = reinterpret_cast<CUdeviceptr>(memory.tensor(P3D_F32, half / 4 + 1));
  CUstream stream = memory.bench.stream();
  auto copy = [=] { P3D_CU(cuMemcpyDtoDAsync, to, from, size_t(half), stream); };
  return {std::move(run), bytes, false, "copy", copy, 2. * double(half)};
}

// -------------------------------------------------------------------------------------------------------- lines

static Bench *running = nullptr;
static int failures = 0;

static void measure(benchmark::State &state, const Prepare &prepare) {
  try {
    Memory memory(*running);
    Work work = prepare(memory);
    work.run(), work.peer(); // finds kernels and algorithms, allocates scratch memory
    running->device.synchronize();
    double seconds = 0, peerSeconds = 0;
    for (auto _ : state) {
      double one = running->seconds(work.run);
      state.SetIterationTime(one);
      seconds += one;
      peerSeconds += running->seconds(work.peer);
    }
    double count = double(state.iterations()), unit = work.isFlops ? 1e12 : 1e9;
    double rate = work.amount * count / seconds / unit, peerRate = work.peerAmount * count / peerSeconds / unit;
    state.counters[work.isFlops ? "TFLOP/s" : "GB/s"] = rate;
    state.counters["peer"] = peerRate;
    state.counters["share"] = rate / peerRate;
    state.SetLabel("peer: " + work.peerName);
  } catch (const Error &error) {
    ++failures;
    state.SkipWithError(error.what());
  }
}

void addLine(const std::string &kernel, const std::string &form, Prepare prepare) {
  auto *line = benchmark::RegisterBenchmark((kernel + "/" + form).c_str(),
                                            [prepare](benchmark::State &state) { measure(state, prepare); });
  line->UseManualTime()->Unit(benchmark::kMicrosecond);
  if (tiny)
    line->Iterations(1);
  else
    line->MinTime(0.03);
}

int runLines(Bench &bench) {
  running = &bench;
  failures = 0;
  size_t lines = benchmark::RunSpecifiedBenchmarks();
  running = nullptr;
  return lines > 0 ? failures : 1;
}

} // namespace p3dbench
