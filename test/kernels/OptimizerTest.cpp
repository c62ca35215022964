// AdamW, SGD and the squared norm: several steps, masters of 16-bit parameters, gradient scaling.
#include "kernels/reference/Reference.h"
#include "test/kernels/Tensor.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace p3dtest;

namespace {
/// Parameter, optional master, and two states of `count` elements, with their doubles.
struct Weights {
  Weights(int32_t dtype, int64_t count, bool withMaster)
      : p(dtype, skewed(count, 31)), master(P3D_F32, p.values()), m(P3D_F32, std::vector<double>(count, 0)),
        v(P3D_F32, std::vector<double>(count, 0)), wantP(p.values()), wantM(count), wantV(count),
        masterPointer(withMaster ? master.floats() : nullptr) {}
  Tensor p, master, m, v;
  std::vector<double> wantP, wantM, wantV;
  float *masterPointer;
};
} // namespace

static const float lr = 1e-2f, beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, decay = 0.1f, gradScale = 0.37f;

static void checkAdamW(int32_t dtype, int64_t count, bool withMaster) {
  Weights w(dtype, count, withMaster);
  for (int64_t step = 1; step <= 5; ++step) {
    Tensor g(P3D_F32, skewed(count, static_cast<unsigned>(32 + step)));
    p3d_adamw(dtype, w.p.data(), w.masterPointer, g.floats(), w.m.floats(), w.v.floats(), count, step, lr, beta1, beta2,
              epsilon, decay, gradScale);
    reference::adamw(w.wantP.data(), g.values().data(), w.wantM.data(), w.wantV.data(), count, step, lr, beta1, beta2,
                     epsilon, decay, gradScale);
  }
  expectClose(w.p.values(), w.wantP, dtype, "adamw p");
  if (withMaster)
    expectClose(w.master.values(), w.wantP, P3D_F32, "adamw master");
  expectClose(w.m.values(), w.wantM, P3D_F32, "adamw m");
  expectClose(w.v.values(), w.wantV, P3D_F32, "adamw v");
}

TEST(AdamW, MatchesReference) {
  for (int64_t count : {1, 7, 64, 10007}) {
    checkAdamW(P3D_F32, count, /*withMaster=*/false);
    for (int32_t dtype : floatTypes)
      checkAdamW(dtype, count, /*withMaster=*/true);
  }
}

static void checkSgd(int32_t dtype, int64_t count, bool withMaster, bool withMomentum) {
  Weights w(dtype, count, withMaster);
  for (unsigned step = 1; step <= 5; ++step) {
    Tensor g(P3D_F32, skewed(count, 32 + step));
    p3d_sgd(dtype, w.p.data(), w.masterPointer, g.floats(), withMomentum ? w.m.floats() : nullptr, count, lr, 0.8f,
            decay, gradScale);
    reference::sgd(w.wantP.data(), g.values().data(), withMomentum ? w.wantM.data() : nullptr, count, lr, 0.8f, decay,
                   gradScale);
  }
  expectClose(w.p.values(), w.wantP, dtype, "sgd p");
  if (withMomentum)
    expectClose(w.m.values(), w.wantM, P3D_F32, "sgd momentum");
}

TEST(Sgd, MatchesReference) {
  for (int64_t count : {1, 7, 10007})
    for (bool withMomentum : {false, true}) {
      checkSgd(P3D_F32, count, /*withMaster=*/false, withMomentum);
      for (int32_t dtype : floatTypes)
        checkSgd(dtype, count, /*withMaster=*/true, withMomentum);
    }
}

TEST(SquaredNorm, MatchesReference) {
  for (int64_t count : {0, 1, 13, 100003}) {
    Tensor x(P3D_F32, skewed(count, 41));
    double want = reference::squaredNorm(x.values().data(), count);
    EXPECT_NEAR(p3d_squared_norm(x.floats(), count), want, 1e-13 * want);
  }
}
