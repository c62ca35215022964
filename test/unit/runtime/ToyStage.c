// A hand-written stage object for a 2x2x2 mesh: what p3dc emits, in C. Two
// microbatches of two rows per replica;
//   stage 0: h = x A      (A [4,6], columns over tp)      stage 1: y = h B  (B
//   [6,4], rows over tp), y all-reduced over tp loss = sum((y - t)^2) / 2 over
//   the global batch of 8 rows; b [4] is added to y and replicated over tp.
// STAGE is 0 or 1. TOY_HANG and TOY_CRASH (a rank) make that rank hang or abort
// in step 2.
#include "runtime/include/p3d/runtime.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { Rows = 2, In = 4, Mid = 3, Out = 4, Slots = 2 };

#define COMMON                                                                 \
  "\"version\":1,\"model\":\"toy\",\"stages\":2,"                              \
  "\"mesh\":{\"tp\":2,\"pp\":2,\"dp\":2},\"rank_order\":\"tp-dp-pp\","         \
  "\"microbatches\":2,\"global_batch\":8,\"tokens_per_step\":8,"               \
  "\"fingerprint\":\"toy\",\"slots\":2,\"optimizer\":\"adamw\","               \
  "\"tied_groups\":[],\"tasks\":[\"forward\",\"backward\",\"synchronize\"],"   \
  "\"operations\":[\"h: send to stage 1\",\"h: recv\",\"y: all_reduce over "   \
  "tp\",\"dh: send to stage 0\",\"dh: recv\",\"gradients: all_reduce over "    \
  "dp\",\"loss: all_reduce over dp\"],"

enum { SendH, RecvH, ReduceY, SendDh, RecvDh, ReduceGrads, ReduceLoss };

static float *at(char *arena, long offset) { return (float *)(arena + offset); }

/* C[m][n] += A[m][k] B[k][n] with any strides. */
static void multiply(long m, long n, long k, const float *a, long am, long ak,
                     const float *b, long bk, long bn, float *c, long cm) {
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < n; ++j)
      for (long l = 0; l < k; ++l)
        c[i * cm + j] += a[i * am + l * ak] * b[l * bk + j * bn];
}

#if STAGE == 0
enum {
  A = 0,
  GradA = 64,
  M = 128,
  V = 192,
  X = 256,
  H = 320,
  Dh = 384,
  Bytes = 512
};
const char p3d_program[] =
    "{" COMMON "\"stage\":0,\"arena_bytes\":512,"
    "\"zero\":{\"offset\":64,\"bytes\":48},"
    "\"params\":[{\"name\":\"params.a\",\"role\":\"param\",\"dtype\":\"f32\","
    "\"global_shape\":[4,6],\"piece_offset\":[0,0],\"piece_shape\":[4,6],"
    "\"shards\":[{\"dim\":1,\"axes\":[\"tp\"],\"chunk\":3}],\"offset\":0,"
    "\"grad\":64,\"m\":128,\"v\":192,\"master\":-1,\"decay\":true,"
    "\"counts_in_norm\":true,\"init\":{\"kind\":\"normal\",\"std\":0.5}}],"
    "\"inputs\":[{\"name\":\"batch.x\",\"dtype\":\"f32\",\"global_shape\":[8,4]"
    ","
    "\"batch_dim\":0,\"offset\":256,\"index_limit\":0}],\"results\":[],"
    "\"order\":[[0,0,0],[0,1,1],[1,0,0],[1,1,1],[2,0,0]]}";

static void fault(p3d_context *ctx) {
  static int step = 0;
  const char *rank = getenv("P3D_RANK"), *hang = getenv("TOY_HANG"),
             *crash = getenv("TOY_CRASH");
  (void)ctx;
  if (++step != 2)
    return;
  if (hang && strcmp(rank, hang) == 0)
    for (;;)
      pause();
  if (crash && strcmp(rank, crash) == 0)
    abort();
}

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
enum {
  B = 0,
  Bias = 48,
  GradB = 64,
  GradBias = 112,
  Loss = 128,
  MB = 192,
  VB = 256,
  MBias = 320,
  VBias = 336,
  T = 384,
  H = 448,
  Y = 512,
  Dh = 576,
  Bytes = 640
};
const char p3d_program[] =
    "{" COMMON "\"stage\":1,\"arena_bytes\":640,"
    "\"zero\":{\"offset\":64,\"bytes\":68},"
    "\"params\":[{\"name\":\"params.b\",\"role\":\"param\",\"dtype\":\"f32\","
    "\"global_shape\":[6,4],\"piece_offset\":[0,0],\"piece_shape\":[6,4],"
    "\"shards\":[{\"dim\":0,\"axes\":[\"tp\"],\"chunk\":3}],\"offset\":0,"
    "\"grad\":64,\"m\":192,\"v\":256,\"master\":-1,\"decay\":true,"
    "\"counts_in_norm\":true,\"init\":{\"kind\":\"normal\",\"std\":0.5}},"
    "{\"name\":\"params.bias\",\"role\":\"param\",\"dtype\":\"f32\","
    "\"global_shape\":[4],\"piece_offset\":[0],\"piece_shape\":[4],"
    "\"shards\":[],\"offset\":48,\"grad\":112,\"m\":320,\"v\":336,"
    "\"master\":-1,\"decay\":false,\"counts_in_norm\":true,"
    "\"init\":{\"kind\":\"zeros\"}}],"
    "\"inputs\":[{\"name\":\"batch.t\",\"dtype\":\"f32\",\"global_shape\":[8,4]"
    ","
    "\"batch_dim\":0,\"offset\":384,\"index_limit\":0}],"
    "\"results\":[{\"name\":\"loss\",\"dtype\":\"f32\",\"offset\":128}],"
    "\"order\":[[0,0,0],[1,0,0],[0,1,1],[1,1,1],[2,0,0]]}";

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
