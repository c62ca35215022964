// Speed of the kernels on a device: p3d_gpu_bench [--sizes=tiny] [--benchmark_filter=...]
#include "test/gpu/bench/Bench.h"
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstring>

using namespace p3dbench;

static bool lists(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--benchmark_list_tests", 22) == 0)
      return true;
  return false;
}

int main(int argc, char **argv) {
  std::string sizes = p3dtest::takeFlag(argc, argv, "sizes", "models");
  if (sizes != "models" && sizes != "tiny") {
    std::fprintf(stderr, "--sizes=%s: expected models or tiny\n", sizes.c_str());
    return 1;
  }
  if (sizes == "tiny")
    setTiny();
  bool isList = lists(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  addRowLines();
  addFusedLines();
  addIndexLines();
  addUpdateLines();
  addProductLines();
  if (isList) // needs no device
    return benchmark::RunSpecifiedBenchmarks() > 0 ? 0 : 1;
  return p3dtest::runOnDevice([](p3dtest::TestDevice &device) {
    std::fprintf(stderr, "device: %s, sm_%d; share = rate / rate of the peer\n", device.name().c_str(),
                 device.architecture());
    Bench bench(device);
    return runLines(bench) == 0 ? 0 : 1;
  });
}
