// One launch over a table of tensors gives, bit by bit, what a launch for each gives; gradient clipping on the device;
// what the launchers refuse.
#include "test/kernels/Tensor.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace p3dtest;

namespace {

/// The states of one parameter, twice: for the table and for its own launch.
struct Parameter {
  Parameter(int32_t dtype, int64_t count, unsigned seed)
      : count(count), p(dtype, skewed(count, seed)), master(P3D_F32, p.values()), g(P3D_F32, skewed(count, seed + 1)),
        first(P3D_F32, skewed(count, seed + 2)), second(P3D_F32, std::vector<double>(count, 0.5)) {}
  float *masterPointer() { return p.dtype == P3D_F32 ? nullptr : master.floats(); }
  p3d_cuda_tensor entry(float decay) {
    return {p.data(), masterPointer(), g.floats(), first.floats(), second.floats(), count, 0, p.dtype, decay};
  }

  int64_t count;
  Tensor p, master, g, first, second;
};

/// More than a block, exactly a block, an odd few, none.
std::vector<Parameter> parameters() {
  return {{P3D_F32, 10007, 1}, {P3D_BF16, 4096, 2}, {P3D_F16, 5, 3}, {P3D_BF16, 0, 4}, {P3D_BF16, 8195, 5}};
}

const float lr = 1e-2f, beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, gradScale = 0.37f;
float decayOf(size_t i) { return i % 2 ? 0.1f : 0.f; }

Buffer<p3d_cuda_tensor> tableOf(std::vector<Parameter> &tensors, int64_t &blocks) {
  Buffer<p3d_cuda_tensor> table;
  for (size_t i = 0; i < tensors.size(); ++i)
    table.push_back(tensors[i].entry(decayOf(i)));
  blocks = p3d_cuda_number_blocks(table.data(), static_cast<int32_t>(table.size()));
  return table;
}

void expectSame(const std::vector<Parameter> &got, const std::vector<Parameter> &want) {
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].p.values(), want[i].p.values()) << i;
    EXPECT_EQ(got[i].master.values(), want[i].master.values()) << i;
    EXPECT_EQ(got[i].first.values(), want[i].first.values()) << i;
    EXPECT_EQ(got[i].second.values(), want[i].second.values()) << i;
  }
}

} // namespace

TEST(Table, AdamWIsThatOfEachTensor) {
  std::vector<Parameter> together = parameters(), alone = parameters();
  int64_t blocks;
  Buffer<p3d_cuda_tensor> table = tableOf(together, blocks);
  Buffer<p3d_cuda_step> step = {p3d_cuda_adamw_step(3, lr, beta1, beta2, gradScale)};
  p3d_cuda_adamw_table(P3D_ON_DEVICE, table.data(), static_cast<int32_t>(table.size()), blocks, step.data(), beta1,
                       beta2, epsilon);
  for (size_t i = 0; i < alone.size(); ++i)
    if (alone[i].count > 0)
      p3d_adamw(alone[i].p.dtype, alone[i].p.data(), alone[i].masterPointer(), alone[i].g.floats(),
                alone[i].first.floats(), alone[i].second.floats(), alone[i].count, 3, lr, beta1, beta2, epsilon,
                decayOf(i), gradScale);
  expectSame(together, alone);
}

TEST(Table, SgdIsThatOfEachTensor) {
  std::vector<Parameter> together = parameters(), alone = parameters();
  int64_t blocks;
  Buffer<p3d_cuda_tensor> table = tableOf(together, blocks);
  Buffer<p3d_cuda_step> step = {{lr, gradScale, 1, 1}};
  p3d_cuda_sgd_table(P3D_ON_DEVICE, table.data(), static_cast<int32_t>(table.size()), blocks, step.data(), 0.8f);
  for (size_t i = 0; i < alone.size(); ++i)
    if (alone[i].count > 0)
      p3d_sgd(alone[i].p.dtype, alone[i].p.data(), alone[i].masterPointer(), alone[i].g.floats(),
              alone[i].first.floats(), alone[i].count, lr, 0.8f, decayOf(i), gradScale);
  expectSame(together, alone);
}

TEST(Table, NormIsThatOfAllGradients) {
  std::vector<Parameter> tensors = parameters();
  int64_t blocks;
  Buffer<p3d_cuda_tensor> table = tableOf(tensors, blocks);
  Buffer<double> got(1);
  double want = 0;
  p3d_cuda_squared_norm_table(P3D_ON_DEVICE, table.data(), static_cast<int32_t>(table.size()), blocks, got.data());
  for (Parameter &tensor : tensors)
    for (double value : tensor.g.values())
      want += value * value;
  EXPECT_NEAR(got[0], want, 1e-13 * want);
}

TEST(Table, ClipsByTheNorm) {
  Buffer<p3d_cuda_step> step = {{lr, 0, 1, 1}};
  Buffer<double> squaredNorm = {400}; // with gradients still to be divided by 4: a norm of 5
  p3d_cuda_clip_scale(P3D_ON_DEVICE, squaredNorm.data(), 1.f, 0.25f, step.data());
  EXPECT_FLOAT_EQ(step[0].gradScale, 0.05f);
  p3d_cuda_clip_scale(P3D_ON_DEVICE, squaredNorm.data(), 6.f, 0.25f, step.data());
  EXPECT_FLOAT_EQ(step[0].gradScale, 0.25f);
}

TEST(Launch, RefusesWhatHasNoKernel) {
  float value = 1;
  int32_t id = 0;
  const int64_t wide[4] = {0, 0, int64_t(1) << 31, 1};
  EXPECT_DEATH(p3d_softmax(P3D_F64, &value, &value, 1, 1), "softmax has no form for element type 3");
  EXPECT_DEATH(p3d_softmax(P3D_F32, &value, &value, 1, int64_t(1) << 31),
               "softmax counts columns in 32 bits, but there are 2147483648");
  EXPECT_DEATH(p3d_rms_norm(P3D_F16, P3D_BF16, &value, &value, &value, &value, 1, 1, 0),
               "rms_norm has no form for parameters of element type 1");
  EXPECT_DEATH(p3d_gather(4, P3D_F32, &value, &id, &value, 1, 1, 1, 1, 1, -1),
               "gather has no form for ids of element type 0");
  EXPECT_DEATH(p3d_adamw(P3D_BF16, &value, nullptr, &value, &value, &value, 1, 1, 0, 0, 0, 0, 0, 1),
               "adamw needs an f32 master for weights of element type 1");
  EXPECT_DEATH(
      p3d_attention(P3D_F32, &value, &value, &value, nullptr, nullptr, &value, &value, 1, 1, 1, 1, 1, 129, 1, 0, 0),
      "attention takes heads of up to 128 columns, but these have 129");
  EXPECT_DEATH(p3d_attention(P3D_F32, &value, &value, &value, &value, wide, &value, &value, 1, 2, 1, 1, 1, 1, 1, 0, 0),
               "attention takes masks of fewer than 2147483648 elements per head");
  EXPECT_DEATH(
      p3d_attention(P3D_F32, &value, &value, &value, nullptr, nullptr, &value, &value, 70000, 1, 1, 1, 1, 1, 1, 0, 0),
      "p3d_attention_32_f32 would need a grid of 1 x 1 x 70000 blocks, more than a device has");
}

// A launcher that only records tells how much workspace a call needs.
TEST(Launch, TellsTheWorkspace) {
  static int64_t needed = 0;
  p3d_launcher recorder = {[](p3d_launcher *, const char *, void *, const uint32_t *, const uint32_t *, uint32_t,
                              void **, const uint32_t *, uint32_t) {},
                           [](p3d_launcher *, void *, int64_t bytes) -> void * {
                             needed = bytes;
                             return &needed;
                           },
                           [](p3d_launcher *, const char *) {}, 108, 160 * 1024};
  p3d_cuda_attention_grad(&recorder, nullptr, P3D_BF16, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                          nullptr, nullptr, nullptr, nullptr, 2, 1024, 1024, 12, 12, 64, 0.125f, 1, -INFINITY);
  EXPECT_EQ(needed, 2 * 12 * 1024 * 3 * 4);
}

// A device that has too little says so.
TEST(Launch, RefusesTooMuchSharedMemory) {
  float value = 1;
  p3d_launcher small = *testLauncher();
  small.sharedBytesPerBlock = 16 * 1024;
  EXPECT_DEATH(p3d_cuda_attention(&small, nullptr, P3D_F32, &value, &value, &value, nullptr, nullptr, &value, &value, 1,
                                  1, 1, 1, 1, 64, 1, 0, 0),
               "p3d_attention_64_f32 needs 49152 bytes of shared memory, but a block of this device has 16384");
}
