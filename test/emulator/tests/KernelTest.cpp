// The kernel executor: kernels compiled by clang give what a GPU gives, and what is wrong is reported.
#include "test/emulator/Kernel/EmulatedModule.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

using namespace p3d::emulator;

static const EmulatedModule &kernels() {
  static auto module = EmulatedModule::loadFile(P3D_TEST_KERNELS);
  return *module;
}

/// The message of the KernelError that `call` throws.
template <typename Call> static std::string errorOf(Call call) {
  try {
    call();
  } catch (const KernelError &error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Kernel, ElementWise) {
  std::vector<float> x(1000), y(1000, -1);
  std::iota(x.begin(), x.end(), 0);
  kernels().launch("scale", {8}, {128}, 0, y.data(), x.data(), 2.5f, 999);
  for (int i = 0; i < 999; ++i)
    EXPECT_EQ(y[i], 2.5f * i);
  EXPECT_EQ(y[999], -1);
}

TEST(Kernel, ShufflesAndSharedMemory) {
  std::vector<float> x(1000), sums(4);
  std::iota(x.begin(), x.end(), 0);
  kernels().launch("blockSum", {4}, {256}, 0, sums.data(), x.data(), 1000);
  for (int block = 0; block < 4; ++block)
    EXPECT_EQ(sums[block],
              std::accumulate(x.begin() + block * 256, x.begin() + std::min(1000, block * 256 + 256), 0.f));
}

TEST(Kernel, DynamicSharedMemory) {
  std::vector<int> x(200);
  std::iota(x.begin(), x.end(), 0);
  kernels().launch("reverse", {2}, {100}, 100 * sizeof(int), x.data());
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(x[i], i < 100 ? 99 - i : 299 - i);
}

TEST(Kernel, WarpFunctions) {
  std::vector<unsigned> out(64 * 10);
  kernels().launch("warpFunctions", {1}, {64}, 0, out.data());
  for (unsigned thread = 0; thread < 64; ++thread) {
    unsigned lane = thread % 32, *row = &out[thread * 10];
    EXPECT_EQ(row[0], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(row[1], lane > 28 ? lane : lane + 3);
    EXPECT_EQ(row[2], lane / 8 * 8 + 5);
    EXPECT_EQ(row[3], 0x49249249u);
    EXPECT_EQ(row[4], 1u);
    EXPECT_EQ(row[5], 0u);
    EXPECT_EQ(row[6], 496u);
    EXPECT_EQ(row[7], 0xfu << lane / 4 * 4);
    EXPECT_EQ(row[8], 10u);
    EXPECT_EQ(row[9], lane < 16 ? lane ^ 1 : 0);
  }
}

TEST(Kernel, RoundingIsAsStated) {
  std::vector<float> out(8);
  float a = 1.0f / 3, b = 0.7f, c = 1e-5f;
  kernels().launch("rounding", {1}, {1}, 0, out.data(), a, b, c);
  auto bounds = [](double exact, float down, float up) {
    EXPECT_LT(down, exact);
    EXPECT_GT(up, exact);
    EXPECT_EQ(std::nextafterf(down, INFINITY), up);
  };
  EXPECT_EQ(out[0], std::fma(a, b, c));
  bounds(double(a) * b + c, out[1], out[2]);
  EXPECT_EQ(out[3], out[1]);
  bounds(double(a) + c, out[4], out[5]);
  bounds(double(a) / b, out[6], out[7]);
}

TEST(Kernel, Functions) {
  std::vector<float> out(6);
  kernels().launch("functions", {1}, {1}, 0, out.data(), 0.6f);
  float expected[] = {std::exp(0.6f), std::tanh(0.6f), 1 / std::sqrt(0.6f), std::exp(0.6f), std::erf(0.6f), 1};
  for (int i = 0; i < 6; ++i)
    EXPECT_NEAR(out[i], expected[i], 2e-7) << i;
}

TEST(Kernel, Bfloat16) {
  std::vector<float> x = {1, 1.00390625f, 1.01171875f, -3.3f, 1e-40f, INFINITY};
  std::vector<uint16_t> out(2 * x.size());
  kernels().launch("roundToBf16", {1}, {32}, 0, out.data(), x.data(), int(x.size()));
  uint16_t expected[] = {0x3f80, 0x3f80, 0x3f82, 0xc053, 0x0001, 0x7f80};
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(out[i], expected[i]) << x[i];
  EXPECT_EQ(out[6], 0x4000);
  EXPECT_EQ(out[9], 0xc013);
}

TEST(Kernel, AtomicsAndDeviceVariables) {
  std::vector<float> x(256, 0.5f), sum(2);
  for (int i = 1; i <= 2; ++i) {
    kernels().launch("atomicSum", {4}, {64}, 0, sum.data(), x.data());
    EXPECT_EQ(sum[0], i * 128);
    EXPECT_EQ(sum[1], 4);
    sum[1] = 0;
  }
}

TEST(Kernel, StructByValue) {
  struct Shape {
    int rows, columns;
    float values[5];
  } shape = {3, 4, {0, 0, 0, 0, 0.5f}};
  float out = 0;
  kernels().launch("byValue", {1}, {1}, 0, &out, shape);
  EXPECT_EQ(out, 12.5f);
}

TEST(Kernel, IndicesInThreeDimensions) {
  std::vector<int> out(2 * 3 * 2 * 4 * 2 * 3);
  kernels().launch("indices", {2, 3, 2}, {4, 2, 3}, 0, out.data());
  for (int i = 0; i < int(out.size()); ++i)
    EXPECT_EQ(out[i], i / 24 * 1000 + i % 24);
}

TEST(Kernel, SharedMemoryIsPoisoned) {
  std::vector<float> x(32);
  kernels().launch("uninitialised", {1}, {32}, 0, x.data());
  EXPECT_EQ(x[0], 1);
  EXPECT_TRUE(std::isnan(x[1]));
}

TEST(Kernel, ReportsDivergentBarriers) {
  std::vector<int> x(64);
  std::string text = errorOf([&] { kernels().launch("divergent", {3}, {64}, 0, x.data(), 40); });
  EXPECT_EQ(text,
            "kernel divergent: block (0,0,0): divergent wait: of 64 threads 40 wait at barrier 0 (for 64), 24 have "
            "returned (thread 40 is one)");
  text = errorOf([&] { kernels().launch("mixedWarp", {1}, {32}, 0, x.data()); });
  EXPECT_NE(text.find("24 wait at barrier 0"), std::string::npos) << text;
  EXPECT_NE(text.find("8 wait in their warp (thread 0: shuffle with mask 0xffffffff)"), std::string::npos) << text;
  // The executor is as good as new.
  kernels().launch("divergent", {3}, {64}, 0, x.data(), 64);
  EXPECT_EQ(x[63], 1);
}

TEST(Kernel, ReportsTraps) {
  int x = 3;
  EXPECT_EQ(errorOf([&] { kernels().launch("asserts", {1}, {1}, 0, &x); }),
            "kernel asserts: block (0,0,0), thread (0,0,0): trap");
}

TEST(Kernel, RefusesWrongLaunches) {
  int x[64] = {};
  EXPECT_EQ(errorOf([&] { kernels().launch("bounded", {1}, {65}, 0, x + 0); }),
            "kernel bounded: blocks of 65 threads, but its launch bounds allow 64");
  EXPECT_EQ(errorOf([&] { kernels().launch("nowhere", {1}, {1}, 0); }), "there is no kernel nowhere");
  EXPECT_EQ(errorOf([&] { kernels().launch("bounded", {1}, {1}, 0, 1, 2); }),
            "kernel bounded takes 1 arguments, not 2");
  EXPECT_EQ(errorOf([&] { kernels().launch("bounded", {1}, {1}, 0, 1); }),
            "argument 0 of kernel bounded has 8 bytes, not 4");
}

TEST(Kernel, ManyBarriers) {
  const int blocks = 100, barriers = 10;
  std::vector<float> x(blocks * 256);
  kernels().launch("manyBarriers", {unsigned(blocks)}, {256}, 0, x.data(), barriers);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(x[i], (i + barriers) % 256) << i;
}
