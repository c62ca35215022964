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

/// Einsums with epilogues, in operands of the arena: a, b, c, aux, a vector.
class EpilogueCheck {
public:
  EpilogueCheck(CudaDevice &device, const p3d_einsum_plan &plan, p3d_dtype dtype, p3d_dtype cDtype)
      : device(device), plan(plan), dtype(dtype), cDtype(cDtype), a(values(0)), b(values(1)), c(elements) {
    reference::einsum(plan, a.data(), b.data(), c.data(), false);
    fill(device, 0, dtype), fill(device, 1, dtype), fill(device, 2, cDtype), fill(device, 3, cDtype),
        fill(device, 4, cDtype);
  }

  /// Vectors have `count` elements; `shift` elements before a place that is aligned.
  void run(int32_t kind, int64_t count, bool hasAux, bool hasSums, bool addsSums, int64_t shift) {
    char *arena = device.arena(), *aux = arena + 3 * operandBytes + shift * info(cDtype).bytes,
         *vector = arena + 4 * operandBytes;
    bool takesBias = kind == P3D_EPILOGUE_BIAS || kind == P3D_EPILOGUE_BIAS_GELU;
    ProductEpilogue epilogue{
        kind, count, takesBias ? vector : nullptr, hasAux ? aux : nullptr, hasSums ? vector : nullptr, addsSums};
    device.einsum.run(&plan, dtype, cDtype, arena, arena + operandBytes, arena + 2 * operandBytes, false, epilogue);
  }

  /// Complains about operand `number` where it differs from `want` by more than rounding.
  void compare(const char *what, int number, const std::vector<double> &want, int64_t shift = 0) {
    device.read({{number * operandBytes, operandBytes}}, [&](const HostRanges &host) {
      for (size_t i = 0; i < want.size(); ++i) {
        double found = loadFloat(cDtype, host[0], int64_t(i) + shift),
               allowed = (cDtype == P3D_F32 ? 2e-5 : 2e-2) * (1 + std::fabs(want[i]));
        if (!(std::fabs(found - want[i]) <= allowed))
          fmt::print(stderr, "{} {} to {}: element {} is {}, not {}\n", what, info(dtype).name, info(cDtype).name, i,
                     found, want[i]);
      }
    });
  }

  static std::vector<double> values(int operand) {
    std::vector<double> all;
    for (int64_t i = 0; i < elements; ++i)
      all.push_back(valueOf(i, operand));
    return all;
  }

  CudaDevice &device;
  const p3d_einsum_plan &plan;
  p3d_dtype dtype, cDtype;
  std::vector<double> a, b, c;
};

void checkBias(CudaDevice &device, const p3d_einsum_plan &plan, p3d_dtype dtype, p3d_dtype cDtype, int64_t rows,
               int64_t count, int64_t shift) {
  std::vector<double> bias = EpilogueCheck::values(4), sum(rows * count), gelu(rows * count), zero(count);
  for (bool hasAux : {false, true}) {
    EpilogueCheck check(device, plan, dtype, cDtype);
    for (int64_t i = 0; i < rows * count; ++i)
      sum[i] = check.c[i] + bias[i % count];
    check.run(P3D_EPILOGUE_BIAS, count, false, false, false, 0);
    check.compare("bias", 2, sum);
    reference::biasGelu(sum.data(), zero.data(), gelu.data(), rows, count, false);
    check.run(P3D_EPILOGUE_BIAS_GELU, count, hasAux, false, false, shift);
    check.compare("gelu", 2, gelu);
    if (hasAux)
      check.compare("kept", 3, sum, shift);
  }
}

void checkGeluGrad(CudaDevice &device, const p3d_einsum_plan &plan, p3d_dtype dtype, p3d_dtype cDtype, int64_t rows,
                   int64_t count, int64_t shift) {
  std::vector<double> x = EpilogueCheck::values(3), dx(rows * count), sums(count), zero(count),
                      before = EpilogueCheck::values(4);
  x.erase(x.begin(), x.begin() + shift);
  for (bool adds : {false, true})
    for (bool hasSums : {false, true}) {
      EpilogueCheck check(device, plan, dtype, cDtype);
      reference::biasGeluGrad(check.c.data(), x.data(), zero.data(), dx.data(), sums.data(), rows, count, false);
      check.run(P3D_EPILOGUE_GELU_GRAD, count, true, hasSums, adds, shift);
      check.compare("gelu gradient", 2, dx);
      for (int64_t i = 0; adds && i < count; ++i)
        sums[i] += before[i];
      // Sums of results that are rounded themselves.
      if (hasSums && cDtype == P3D_F32)
        check.compare("its sums", 4, sums);
    }
}

void checkOperandSums(CudaDevice &device, const p3d_einsum_plan &plan, p3d_dtype dtype, p3d_dtype cDtype) {
  std::vector<double> before = EpilogueCheck::values(4);
  for (int32_t kind : {P3D_EPILOGUE_SUM_A, P3D_EPILOGUE_SUM_B})
    for (bool adds : {false, true}) {
      EpilogueCheck check(device, plan, dtype, cDtype);
      int64_t count = kind == P3D_EPILOGUE_SUM_A ? plan.m : plan.n;
      std::vector<double> sums(count);
      for (int64_t i = 0; i < count; ++i) {
        sums[i] = adds ? before[i] : 0;
        for (int64_t loop = 0; loop < (plan.loopCount ? plan.extent[0] : 1); ++loop)
          for (int64_t k = 0; k < plan.k; ++k)
            sums[i] += kind == P3D_EPILOGUE_SUM_A ? check.a[i * plan.aM + k * plan.aK + loop * plan.aLoop[0]]
                                                  : check.b[i * plan.bN + k * plan.bK + loop * plan.bLoop[0]];
      }
      check.run(kind, count, false, true, adds, 0);
      check.compare("sums of an operand", 4, sums);
      check.compare("product", 2, {check.c.begin(), check.c.begin() + plan.m * plan.n});
    }
}

/// Every epilogue with every element type; the results are [rows, count]. Where `isWeight` the plan sums over rows that
/// lie outermost in both operands.
[[noreturn]] void checkEpilogues(const p3d_einsum_plan &plan, int64_t rows, int64_t count, int64_t shift,
                                 bool isWeight) {
  {
    Program program;
    program.arenaBytes = 5 * operandBytes;
    CudaDevice device(program, 0, {p3d_library_images});
    for (p3d_dtype dtype : {P3D_F32, P3D_BF16})
      for (p3d_dtype cDtype : {P3D_F32, dtype}) {
        if (isWeight) {
          checkOperandSums(device, plan, dtype, cDtype);
          continue;
        }
        checkBias(device, plan, dtype, cDtype, rows, count, shift);
        checkGeluGrad(device, plan, dtype, cDtype, rows, count, shift);
      }
  }
  exit(0);
}

void expectEpilogues(const p3d_einsum_plan &plan, int64_t rows, int64_t count, int64_t shift = 0,
                     bool isWeight = false) {
  EXPECT_EXIT(checkEpilogues(plan, rows, count, shift, isWeight), testing::ExitedWithCode(0), "^$");
}

TEST(CudaEinsum, Epilogues) {
  expectEpilogues(dense(5, 16, 7), 5, 16);
  p3d_einsum_plan batch = dense(4, 8, 5);
  addLoop(batch, 3, 20, 40, 32);
  expectEpilogues(batch, 12, 8);
  p3d_einsum_plan transposed = dense(24, 6, 5); // c [n, m]
  transposed.cM = 1, transposed.cN = 24;
  expectEpilogues(transposed, 6, 24);
}

TEST(CudaEinsum, EpiloguesByKernels) {
  expectEpilogues(dense(5, 7, 6), 5, 7);      // cuBLASLt wants 8 elements
  expectEpilogues(dense(5, 16, 7), 5, 16, 1); // and 16 bytes
  expectEpilogues(dense(5, 16, 7), 10, 8);    // and a vector that is a side of the matrix
  expectEpilogues(dense(5, 16, 7), 1, 80);
  p3d_einsum_plan noUnit = dense(5, 6, 7);
  noUnit.aM = 14, noUnit.aK = 2;
  expectEpilogues(noUnit, 5, 6);
}

TEST(CudaEinsum, SumsOfOperands) {
  p3d_einsum_plan weight = dense(12, 8, 9); // a [k, m], b [k, n]
  weight.aM = 1, weight.aK = 12;
  expectEpilogues(weight, 0, 0, 0, true);
  weight.cM = 1, weight.cN = 12;
  expectEpilogues(weight, 0, 0, 0, true);
  p3d_einsum_plan twoSums = dense(12, 8, 3); // a [4, 3, m], b [3, 4, n]: no matrix of cuBLASLt
  twoSums.aM = 1, twoSums.aK = 12, twoSums.bK = 32;
  addLoop(twoSums, 4, 36, 8, 0);
  expectEpilogues(twoSums, 0, 0, 0, true);
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
