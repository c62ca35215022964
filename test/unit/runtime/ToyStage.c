// The tasks of the toy program (ToyProgram.h) for the CPU: what p3dc emits, in C.
#define TARGET "cpu"
#include "test/unit/runtime/ToyProgram.h"
#include <string.h>

/* C[m][n] += A[m][k] B[k][n] with any strides. */
static void multiply(long m, long n, long k, const float *a, long am, long ak,
                     const float *b, long bk, long bn, float *c, long cm) {
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < n; ++j)
      for (long l = 0; l < k; ++l)
        c[i * cm + j] += a[i * am + l * ak] * b[l * bk + j * bn];
}

#if STAGE == 0
static void forward(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  float *h = at(arena, H) + slot * Rows * Mid;
  if (mb == 0)
    fault(ctx);
  memset(h, 0, Rows * Mid * 4);
  multiply(Rows, Mid, In, at(arena, X) + mb * Rows * In, In, 1, at(arena, A),
           Mid, 1, h, Mid);
  p3d_send(ctx, 1, 0, mb, slot, h, Rows * Mid * 4, SendH);
}

static void backward(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  float *dh = at(arena, Dh) + slot * Rows * Mid;
  p3d_recv(ctx, 1, 1, mb, dh, Rows * Mid * 4, RecvDh);
  multiply(In, Mid, Rows, at(arena, X) + mb * Rows * In, 1, In, dh, Mid, 1,
           at(arena, GradA), Mid);
}

static void synchronize(p3d_context *ctx, char *arena, int64_t mb,
                        int64_t slot) {
  p3d_all_reduce(ctx, P3D_DP, 0, P3D_SUM, P3D_F32, at(arena, GradA), In * Mid,
                 ReduceGrads);
}
#else
static void forward(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  float *h = at(arena, H) + slot * Rows * Mid;
  float *y = at(arena, Y), *bias = at(arena, Bias);
  p3d_recv(ctx, 0, 0, mb, h, Rows * Mid * 4, RecvH);
  memset(y, 0, Rows * Out * 4);
  multiply(Rows, Out, Mid, h, Mid, 1, at(arena, B), Out, 1, y, Out);
  p3d_all_reduce(ctx, P3D_TP, 0, P3D_SUM, P3D_F32, y, Rows * Out, ReduceY);
  for (long i = 0; i < Rows * Out; ++i) {
    y[i] += bias[i % Out] - at(arena, T)[mb * Rows * Out + i];
    *at(arena, Loss) += y[i] * y[i] / 2;
  }
}

static void backward(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  float *h = at(arena, H) + slot * Rows * Mid, *dy = at(arena, Y);
  float *dh = at(arena, Dh) + slot * Rows * Mid;
  for (long i = 0; i < Rows * Out; ++i)
    at(arena, GradBias)[i % Out] += dy[i];
  multiply(Mid, Out, Rows, h, 1, Mid, dy, Out, 1, at(arena, GradB), Out);
  memset(dh, 0, Rows * Mid * 4);
  multiply(Rows, Mid, Out, dy, Out, 1, at(arena, B), 1, Out, dh, Mid);
  p3d_send(ctx, 0, 1, mb, slot, dh, Rows * Mid * 4, SendDh);
}

static void synchronize(p3d_context *ctx, char *arena, int64_t mb,
                        int64_t slot) {
  p3d_all_reduce(ctx, P3D_DP, 0, P3D_SUM, P3D_F32, at(arena, GradB),
                 Mid * Out + Out, ReduceGrads);
  p3d_all_reduce(ctx, P3D_DP, 0, P3D_SUM, P3D_F32, at(arena, Loss), 1,
                 ReduceLoss);
}
#endif

const p3d_task p3d_tasks[] = {forward, backward, synchronize};
