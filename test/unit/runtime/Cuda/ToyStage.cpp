// The tasks of the toy program (ToyProgram.h) for a device: what p3dc emits, in C. TOY_REDUCE (a rank) lets that rank
// leave out its all-reduce over tp in step 2; TOY_FAULT makes it launch a kernel that nobody has.
#define TARGET "cuda"
#include "kernels/Kernels.h"
#include "test/unit/runtime/ToyProgram.h"

/// C[m][n] (+)= A[m][k] B[k][n] with any strides.
#define PLAN(M, N, K, AM, AK, BK, BN)                                                                                  \
  { 0, {0}, {0}, {0}, {0}, M, N, K, AM, AK, BK, BN, N, 1 }

/// `later` goes on when `earlier` has come to where it is now.
static void order(p3d_context *ctx, int32_t event, p3d_stream earlier, p3d_stream later) {
  p3d_record(ctx, event, earlier);
  p3d_wait(ctx, event, later);
}

#if STAGE == 0
static const p3d_einsum_plan product = PLAN(Rows, Mid, In, In, 1, Mid, 1);
static const p3d_einsum_plan gradient = PLAN(In, Mid, Rows, 1, In, Mid, 1);

static void forward(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  float *h = at(arena, H) + slot * Rows * Mid;
  if (mb == 0)
    fault(ctx);
  p3d_einsum(&product, P3D_F32, P3D_F32, at(arena, X) + mb * Rows * In, at(arena, A), h, 0);
  order(ctx, 0, P3D_STREAM_COMPUTE, P3D_STREAM_FORWARD);
  p3d_send(ctx, 1, 0, mb, slot, h, Rows * Mid * 4, SendH);
}

static void backward(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  float *dh = at(arena, Dh) + slot * Rows * Mid;
  p3d_recv(ctx, 1, 1, mb, dh, Rows * Mid * 4, RecvDh);
  order(ctx, 1, P3D_STREAM_BACKWARD, P3D_STREAM_COMPUTE);
  p3d_einsum(&gradient, P3D_F32, P3D_F32, at(arena, X) + mb * Rows * In, dh, at(arena, GradA), 1);
}

static void synchronize(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  order(ctx, 2, P3D_STREAM_COMPUTE, P3D_STREAM_DP);
  p3d_all_reduce(ctx, P3D_DP, 0, P3D_SUM, P3D_F32, at(arena, GradA), In * Mid, ReduceGrads);
}
#else
static const p3d_einsum_plan product = PLAN(Rows, Out, Mid, Mid, 1, Out, 1);
static const p3d_einsum_plan gradient = PLAN(Mid, Out, Rows, 1, Mid, Out, 1);
static const p3d_einsum_plan inputGradient = PLAN(Rows, Mid, Out, Out, 1, 1, Out);
static const float one = 1;

static void reduceY(p3d_context *ctx, float *y) {
  static int calls = 0;
  const char *leaves = getenv("TOY_REDUCE");
  if (++calls > Slots && leaves && strcmp(getenv("P3D_RANK"), leaves) == 0)
    return;
  order(ctx, 1, P3D_STREAM_COMPUTE, P3D_STREAM_TP);
  p3d_all_reduce(ctx, P3D_TP, 0, P3D_SUM, P3D_F32, y, Rows * Out, ReduceY);
  order(ctx, 2, P3D_STREAM_TP, P3D_STREAM_COMPUTE);
}

static void forward(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  float *h = at(arena, H) + slot * Rows * Mid, *y = at(arena, Y), *bias = at(arena, Bias);
  float *t = at(arena, T) + mb * Rows * Out, *loss = at(arena, Loss);
  int64_t rows = Rows, columns = Out;
  p3d_recv(ctx, 0, 0, mb, h, Rows * Mid * 4, RecvH);
  order(ctx, 0, P3D_STREAM_FORWARD, P3D_STREAM_COMPUTE);
  p3d_einsum(&product, P3D_F32, P3D_F32, h, at(arena, B), y, 0);
  reduceY(ctx, y);
  void *arguments[] = {&y, &bias, &t, &loss, &rows, &columns};
  p3d_launch(ctx, getenv("TOY_FAULT") ? "toy_nobody" : "toy_error", 1, 32, arguments, 6);
}

static void backward(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  float *h = at(arena, H) + slot * Rows * Mid, *dy = at(arena, Y);
  float *dh = at(arena, Dh) + slot * Rows * Mid, *sums = at(arena, GradBias);
  void *scale = p3d_device_constants(ctx, &one, sizeof(one));
  int64_t rows = Rows, columns = Out;
  void *arguments[] = {&sums, &dy, &scale, &rows, &columns};
  p3d_launch(ctx, "toy_sum_rows", 1, 32, arguments, 5);
  p3d_einsum(&gradient, P3D_F32, P3D_F32, h, dy, at(arena, GradB), 1);
  p3d_einsum(&inputGradient, P3D_F32, P3D_F32, dy, at(arena, B), dh, 0);
  order(ctx, 3, P3D_STREAM_COMPUTE, P3D_STREAM_BACKWARD);
  p3d_send(ctx, 0, 1, mb, slot, dh, Rows * Mid * 4, SendDh);
}

static void synchronize(p3d_context *ctx, char *arena, int64_t mb, int64_t slot) {
  order(ctx, 4, P3D_STREAM_COMPUTE, P3D_STREAM_DP);
  p3d_all_reduce(ctx, P3D_DP, 0, P3D_SUM, P3D_F32, at(arena, GradB), Mid * Out + Out, ReduceGrads);
  p3d_all_reduce(ctx, P3D_DP, 0, P3D_SUM, P3D_F32, at(arena, Loss), 1, ReduceLoss);
}
#endif

const p3d_task p3d_tasks[] = {forward, backward, synchronize};

__asm__(".section .rodata.toy,\"a\"\n.balign 16\ntoy_bitcode:\n.incbin \"" TOY_BITCODE
        "\"\ntoy_bitcode_end:\n.zero 64\n"
        ".section .nv_fatbin,\"a\"\n.balign 16\ntoy_fatbin:\n.incbin \"" TOY_FATBIN "\"\n.text\n");
extern const char toy_bitcode[], toy_fatbin[];
const p3d_image p3d_images[] = {{P3D_BITCODE, 0, toy_bitcode, 0}, {P3D_FATBIN, 0, toy_fatbin, 0}, {0, 0, 0, 0}};
