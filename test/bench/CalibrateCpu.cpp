// What a CPU does for p3dc's programs, as a file for --cluster: build/bin/p3d_calibrate_cpu [SECONDS] > mine.json
//
// The kernels that ranks call are timed, on all cores at the same time: products of the shapes that layers have,
// attention, the optimizer on more state than caches hold, reductions out of the memory of other ranks, and waking a
// sleeper; each for SECONDS (1). compiler/clusters/cpu-2core.json was made by it.
#include "kernels/Kernels.h"
#include "runtime/Comm/SharedMemory/Reduce.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "test/bench/Inputs.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <unistd.h>

using namespace p3dbench;

namespace {
using Work = std::function<void()>;

double now() { return double(p3d::monotonicNs()) * 1e-9; }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double measuredSeconds = 1; ///< by each measurement

/// Seconds of one call of what `makeWork` makes for each core, while all cores do it: the median over calls, of the
/// cores' mean.
double secondsOf(const std::function<Work()> &makeWork) {
  constexpr size_t kLeast = 9;
  unsigned cores = std::thread::hardware_concurrency();
  std::atomic<unsigned> waiting{cores};
  std::vector<double> medians(cores);
  std::vector<std::thread> threads;
  for (unsigned core = 0; core < cores; ++core)
    threads.emplace_back([&, core] {
      Work work = makeWork();
      work();
      --waiting;
      while (waiting > 0)
        std::this_thread::yield();
      std::vector<double> calls;
      for (double begin = now(), last = begin; last - begin < measuredSeconds || calls.size() < kLeast;) {
        work();
        double end = now();
        calls.push_back(end - last);
        last = end;
      }
      medians[core] = median(calls);
    });
  double sum = 0;
  for (unsigned core = 0; core < cores; ++core) {
    threads[core].join();
    sum += medians[core];
  }
  return sum / cores;
}

p3d_einsum_plan product(int64_t m, int64_t n, int64_t k, bool aTransposed, bool bTransposed) {
  return {
      0, {}, {}, {}, {}, m, n, k, aTransposed ? 1 : k, aTransposed ? m : 1, bTransposed ? 1 : n, bTransposed ? k : 1,
      n, 1};
}

/// FLOP/s of a large product: what counts as the peak.
double peakRate(int32_t dtype) {
  constexpr int64_t n = 1024;
  return 2. * n * n * n / secondsOf([dtype]() -> Work {
           p3d_einsum_plan plan = product(n, n, n, false, false);
           return [=, a = tensor(dtype, n * n), b = tensor(dtype, n * n, 2), c = tensor(dtype, n * n)]() mutable {
             p3d_einsum(&plan, dtype, dtype, a.data(), b.data(), c.data(), 0);
           };
         });
}

/// FLOP/s of the products of layers, y = x w, dx = dy w^T and dw += x^T dy, on the rows of a microbatch. There are as
/// many layers as make caches useless for weights.
double layerRate(int32_t dtype) {
  constexpr int64_t rows = 256, in = 512, out = 1408, layers = 16;
  return 6. * rows * in * out / secondsOf([dtype]() -> Work {
           p3d_einsum_plan forward = product(rows, out, in, false, false), input = product(rows, in, out, false, true),
                           weight = product(in, out, rows, true, false);
           std::vector<std::vector<char>> w(layers, tensor(dtype, in * out, 2));
           std::vector<std::vector<float>> dw(layers, floats(in * out, 3));
           return [=, x = tensor(dtype, rows * in), dx = tensor(dtype, rows * in), y = tensor(dtype, rows * out),
                   dy = tensor(dtype, rows * out), layer = 0]() mutable {
             layer = (layer + 1) % layers;
             p3d_einsum(&forward, dtype, dtype, x.data(), w[layer].data(), y.data(), 0);
             p3d_einsum(&input, dtype, dtype, dy.data(), w[layer].data(), dx.data(), 0);
             p3d_einsum(&weight, dtype, P3D_F32, x.data(), dy.data(), dw[layer].data(), 1);
           };
         });
}

struct AttentionRates {
  double forward, gradient;
};

/// FLOP/s of causal attention, of which half the products count: two of them forward, five in the gradient.
AttentionRates attentionRates(int32_t dtype) {
  constexpr int64_t s = 256, h = 8, d = 64, size = s * h * d;
  auto makeWork = [dtype](bool gradient) {
    return [=]() -> Work {
      std::vector<std::vector<char>> x;
      for (unsigned i = 0; i < 8; ++i)
        x.push_back(tensor(dtype, size, i + 1));
      std::vector<float> lse(h * s);
      auto forward = [](auto &x, auto &lse, int32_t dtype) {
        p3d_attention(dtype, x[0].data(), x[1].data(), x[2].data(), nullptr, nullptr, x[3].data(), lse.data(), 1, s, s,
                      h, h, d, 0.125f, 1, -INFINITY);
      };
      forward(x, lse, dtype);
      return [=]() mutable {
        if (!gradient)
          return forward(x, lse, dtype);
        p3d_attention_grad(dtype, x[4].data(), x[0].data(), x[1].data(), x[2].data(), nullptr, nullptr, x[3].data(),
                           lse.data(), x[5].data(), x[6].data(), x[7].data(), 1, s, s, h, h, d, 0.125f, 1, -INFINITY);
      };
    };
  };
  constexpr double product = double(h) * s * s * d; // 2 h s s d, half of it hidden
  return {2 * product / secondsOf(makeWork(false)), 5 * product / secondsOf(makeWork(true))};
}

/// Bytes a second of AdamW on state that no cache holds.
double memoryRate() {
  constexpr int64_t count = 8 << 20;
  constexpr double bytes = 28; // gradient read; parameter and both moments read and written
  return bytes * count / secondsOf([]() -> Work {
           return [p = floats(count), g = floats(count, 2), m = floats(count, 3),
                   v = std::vector<float>(count)]() mutable {
             p3d_adamw(P3D_F32, p.data(), nullptr, g.data(), m.data(), v.data(), count, 3, 1e-3f, 0.9f, 0.95f, 1e-8f,
                       0.1f, 1.f);
           };
         });
}

/// Bytes a second of a link on which a ring would take as long as a rank for its part of an all-reduce: it adds the
/// `ranks` tensors and writes each.
double reduceRate() {
  constexpr int64_t ranks = 4, count = 1 << 20;
  double seconds = secondsOf([]() -> Work {
    std::vector<std::vector<char>> tensors;
    for (unsigned rank = 0; rank < ranks; ++rank)
      tensors.push_back(tensor(P3D_F32, count, rank + 1));
    return [=]() mutable {
      std::vector<const char *> sources;
      std::vector<char *> targets;
      for (std::vector<char> &x : tensors) {
        sources.push_back(x.data());
        targets.push_back(x.data());
      }
      p3d::reduceRange(P3D_SUM, P3D_F32, sources, targets, 0, count);
    };
  });
  return 2. * (ranks - 1) * count * sizeof(float) / seconds;
}

double copyRate() {
  constexpr int64_t count = 4 << 20;
  return count * sizeof(float) / secondsOf([]() -> Work {
           return [x = floats(count), y = floats(count, 2)]() mutable {
             std::memcpy(y.data(), x.data(), count * sizeof(float));
           };
         });
}

/// From one rank's signal to another's waking.
double wakeSeconds() {
  constexpr int kRounds = 5000;
  std::atomic<uint32_t> word{0};
  auto play = [&](uint32_t mine, std::vector<double> *rounds) {
    for (int i = 0; i < kRounds; ++i) {
      double begin = now();
      p3d::waitUntil(word, -1, [&] { return word.load() % 2 == mine; });
      p3d::signal(word);
      if (rounds)
        rounds->push_back(now() - begin);
    }
  };
  std::vector<double> rounds;
  std::thread other(play, 1, nullptr);
  play(0, &rounds);
  other.join();
  return median(rounds) / 2;
}
} // namespace

int main(int argc, char **argv) {
  if (argc > 1)
    measuredSeconds = std::atof(argv[1]);
  unsigned cores = std::thread::hardware_concurrency();
  double memoryBytes = double(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  double layer = layerRate(P3D_F32), f32 = std::max(peakRate(P3D_F32), layer);
  double f16 = peakRate(P3D_F16), bf16 = peakRate(P3D_BF16);
  AttentionRates attention = attentionRates(P3D_F32);
  // All kernels compute in f32; of f64 a vector holds half as many.
  std::printf(
      "{\n"
      "  \"name\": \"cpu-%ucore\",\n"
      "  \"cores_per_node\": %u,\n"
      "  \"memory_bytes\": %.2g,\n"
      "  \"memory_bytes_per_second\": %.3g,\n"
      "  \"flops_per_second\": {\"f64\": %.3g, \"f32\": %.3g, \"f16\": %.3g, \"bf16\": %.3g},\n"
      "  \"efficiency\": {\"compute\": %.2f, \"attention\": %.2f, \"attention_gradient\": %.2f, \"memory\": 1},\n",
      cores, cores, memoryBytes / cores, memoryRate(), f32 / 2, f32, f16, bf16, layer / f32,
      std::min(1., attention.forward / f32), std::min(1., attention.gradient / f32));
  double link = 2 / (1 / reduceRate() + 1 / copyRate()), wake = wakeSeconds() * 1e6;
  for (const char *name : {"in_node", "between_nodes"})
    std::printf("  \"%s\": {\"bytes_per_second\": %.3g, \"latency_us\": %.2g}%s\n", name, link, wake,
                name[0] == 'i' ? "," : "\n}");
}
