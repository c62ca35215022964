// Einsums on an emulated device against the double-precision reference: by cuBLASLt, and by the kernel where cuBLASLt
// has no form. Each test is a process of its own, since a device does not outlive a fork.
#include "kernels/reference/Reference.h"
#include "runtime/Cuda/CudaDevice.h"
#include "runtime/DType.h"
#include "test/unit/runtime/Cuda/EinsumPlans.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace p3d;

namespace {

constexpr int64_t elements = 4096; // of each operand
constexpr int64_t operandBytes = elements * 4;

/// Skewed, and exact in 16 bits; every sum of them is exact in f32.
double valueOf(int64_t i, int operand) { return double((i * 7 + operand * 5 + i / 11) % 13) - 6; }

void fill(CudaDevice &device, int operand, p3d_dtype dtype) {
  device.write({{operand * operandBytes, operandBytes}}, [&](const HostRanges &host) {
    for (int64_t i = 0; i < elements; ++i)
      storeFloat(dtype, host[0], i, valueOf(i, operand));
  });
}

/// The largest difference from the reference.
double errorOf(CudaDevice &device, const p3d_einsum_plan &plan, p3d_dtype dtype, p3d_dtype cDtype, bool accumulates) {
  std::vector<double> a, b, c;
  for (int64_t i = 0; i < elements; ++i)
    a.push_back(valueOf(i, 0)), b.push_back(valueOf(i, 1)), c.push_back(valueOf(i, 2));
  reference::einsum(plan, a.data(), b.data(), c.data(), accumulates);
  fill(device, 0, dtype), fill(device, 1, dtype), fill(device, 2, cDtype);
  char *arena = device.arena();
  device.einsum.run(&plan, dtype, cDtype, arena, arena + operandBytes, arena + 2 * operandBytes, accumulates);
  double error = 0;
  device.read({{2 * operandBytes, operandBytes}}, [&](const HostRanges &host) {
    for (int64_t i = 0; i < elements; ++i)
      error = std::fmax(error, std::fabs(loadFloat(cDtype, host[0], i) - c[size_t(i)]));
  });
  return error;
}

/// Every element type, written and added to; ends the process with what went wrong.
[[noreturn]] void check(const p3d_einsum_plan &plan, bool atomics) {
  {
    Program program;
    program.arenaBytes = 3 * operandBytes;
    CudaDevice device(program, 0, {p3d_library_images});
    device.einsum.allowAtomics(atomics);
    for (p3d_dtype dtype : {P3D_F32, P3D_BF16, P3D_F16})
      for (p3d_dtype cDtype : {P3D_F32, dtype})
        for (bool accumulates : {false, true})
          if (double error = errorOf(device, plan, dtype, cDtype, accumulates); error > (cDtype == P3D_BF16  ? 8
                                                                                         : cDtype == P3D_F16 ? 1
                                                                                                             : 0))
            fmt::print(stderr, "{} to {}: {}\n", info(dtype).name, info(cDtype).name, error);
  }
  exit(0);
}

void expectRight(const p3d_einsum_plan &plan) {
  for (bool atomics : {false, true})
    EXPECT_EXIT(check(plan, atomics), testing::ExitedWithCode(0), "^$");
}

TEST(CudaEinsum, Products) {
  expectRight(dense(3, 5, 7));
  expectRight(dense(32, 16, 64));
  expectRight(dense(1, 9, 4));
  p3d_einsum_plan transposed = dense(6, 10, 4);
  transposed.aM = 1, transposed.aK = 6, transposed.bK = 1, transposed.bN = 4;
  expectRight(transposed);
  transposed.cM = 1, transposed.cN = 6;
  expectRight(transposed);
}

TEST(CudaEinsum, Batches) {
  p3d_einsum_plan batch = dense(4, 6, 5);
  addLoop(batch, 7, 20, 30, 24);
  expectRight(batch);
  p3d_einsum_plan heads = dense(4, 4, 4); // [b, s, h, d]
  heads.aM = heads.bK = heads.cM = 12;
  addLoop(heads, 2, 48, 48, 48);
  addLoop(heads, 3, 4, 4, 4);
  expectRight(heads);
}

TEST(CudaEinsum, ByTheKernel) {
  p3d_einsum_plan noUnit = dense(5, 6, 7);
  noUnit.aM = 14, noUnit.aK = 2;
  expectRight(noUnit);
  p3d_einsum_plan summed = dense(3, 4, 5);
  addLoop(summed, 3, 100, 200, 0);
  expectRight(summed);
  expectRight(dense(3, 4, 0));
}

} // namespace
