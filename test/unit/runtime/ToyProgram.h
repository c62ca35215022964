// A hand-written program for a 2x2x2 mesh: descriptions and layouts of its two
// stages, for the CPU (ToyStage.c) and for a device (Cuda/ToyStage.c). Two
// microbatches of two rows per replica;
//   stage 0: h = x A      (A [4,6], columns over tp)      stage 1: y = h B  (B
//   [6,4], rows over tp), y all-reduced over tp loss = sum((y - t)^2) / 2 over
//   the global batch of 8 rows; b [4] is added to y and replicated over tp.
// STAGE is 0 or 1, TARGET "cpu" or "cuda". TOY_HANG and TOY_CRASH (a rank) make
// that rank hang or abort in step 2, TOY_SLOW makes it take 5 ms more in each.
#pragma once
#include "runtime/include/p3d/runtime.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { Rows = 2, In = 4, Mid = 3, Out = 4, Slots = 2 };

#define COMMON                                                                 \
  "\"version\":1,\"target\":\"" TARGET "\",\"events\":8,"                      \
  "\"model\":\"toy\",\"stages\":2,"                                            \
  "\"mesh\":{\"tp\":2,\"pp\":2,\"dp\":2},\"rank_order\":\"tp-dp-pp\","         \
  "\"microbatches\":2,\"global_batch\":8,\"tokens_per_step\":8,"               \
  "\"fingerprint\":\"toy\",\"slots\":2,\"optimizer\":\"adamw\","               \
  "\"tied_groups\":[],\"tasks\":[\"forward\",\"backward\",\"synchronize\"],"   \
  "\"operations\":[\"h: send to stage 1\",\"h: recv\",\"y: all_reduce over "   \
  "tp\",\"dh: send to stage 0\",\"dh: recv\",\"gradients: all_reduce over "    \
  "dp\",\"loss: all_reduce over dp\"],"

enum { SendH, RecvH, ReduceY, SendDh, RecvDh, ReduceGrads, ReduceLoss };

static float *at(char *arena, long offset) { return (float *)(arena + offset); }

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
             *crash = getenv("TOY_CRASH"), *slow = getenv("TOY_SLOW");
  (void)ctx;
  if (slow && strcmp(rank, slow) == 0)
    usleep(5000);
  if (++step != 2)
    return;
  if (hang && strcmp(rank, hang) == 0)
    for (;;)
      pause();
  if (crash && strcmp(rank, crash) == 0)
    abort();
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
#endif
