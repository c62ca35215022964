/* The one edge between the compiler and the runtime: what an emitted stage object defines, and what it may call.
 *
 * A stage executable is base.o (start-up, runtime, kernels) linked with one emitted object. The object defines the
 * three symbols of "The program"; the runtime runs p3d_program's order and calls its tasks; a task calls back into
 * "Services" and into kernels/Kernels.h. Everything lives in one arena, which the peers of a rank map too: pointers
 * handed to a service lie inside the arena of the calling rank.
 */
// The tables below are laid out by hand.
// clang-format off
#ifndef P3D_RUNTIME_H
#define P3D_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct p3d_context p3d_context; /* one rank: mesh coordinates, arena, peers, deadline; owned by the runtime */

/* Element types; the numbers are part of the ABI. i1 is one byte, 0 or 1. */
typedef enum {
  P3D_F32 = 0, P3D_BF16 = 1, P3D_F16 = 2, P3D_F64 = 3, P3D_I32 = 4, P3D_I64 = 5, P3D_UI32 = 6, P3D_UI64 = 7,
  P3D_I1 = 8, P3D_I8 = 9, P3D_UI8 = 10, P3D_I16 = 11, P3D_UI16 = 12
} p3d_dtype;

/* Groups of ranks. A tied group is numbered by its index in the program's "tied_groups". */
/* tp falls into groups of neighbours: tp_minor counts the ranks of a group, tp_major the groups. */
typedef enum { P3D_TP = 0, P3D_DP = 1, P3D_PP = 2, P3D_TIED = 3, P3D_NORM = 4, P3D_TP_MAJOR = 5, P3D_TP_MINOR = 6 } p3d_axis;

typedef enum { P3D_SUM = 0, P3D_MAX = 1, P3D_MIN = 2, P3D_PROD = 3, P3D_AND = 4, P3D_OR = 5 } p3d_reduce_kind;

/* ---- The program: defined by the emitted object ---------------------------------------------------------------- */

/* One task: `arena` is the base of this rank's arena, `mb` the microbatch (0-based), `slot` that of what it sends: the slots of
 * the chunks of a stage are numbered one chunk after the other. */
typedef void (*p3d_task)(p3d_context *ctx, char *arena, int64_t mb, int64_t slot);

extern const char p3d_program[];      /* the description of the program, JSON, NUL-terminated; fields below */
extern const p3d_task p3d_tasks[];    /* in the order of the program's "tasks" */

/* Fields of p3d_program (sizes in bytes, offsets from the arena's base, shapes row-major):
 * { "version":1, "model":"..", "stage":k, "stages":n, "mesh":{"tp":..,"pp":..,"dp":..,"tp_minor":.. (default 1)},
 *   "rank_order":"tp-dp-pp",
 *   "microbatches":m, "global_batch":B, "tokens_per_step":T, "fingerprint":"hex of the whole compile",
 *   "target":"cpu|cuda" (default cpu), "events":E (default 0),
 *   "arena_bytes":N, "workspace_bytes":N (the last of the arena, scratch of kernels and matrix products on a device), "stream_scratch":[N,N] (before it, of the streams tp and dp), "runtime_bytes":N (before these, see P3D_DEVICE_PIECE), "slots":s, "optimizer":"adamw|sgd|none",
 *   "zero":{"offset":O,"bytes":N},           set to zero when a step begins: gradient and loss accumulators
 *   "norm_axes":["tp","pp"],                 axes over which the gradient norm is summed (default tp, pp); with "dp" where
 *                                            gradients are sharded over dp
 *   "tied_groups":[{"stages":[0,3]}],        copies of one parameter; the group of a rank has its tp and dp coordinates.
 *                                            Several with the same stages are told apart by their order in the list
 *   "params":[{"name":"params.h0.attn.wqkv", "role":"param|frozen|buffer|key|loss_scale", "dtype":"f32",
 *      "global_shape":[32,96],               the tensor as files hold it
 *      "piece_offset":[0,0], "piece_shape":[32,32],   the part of it that this entry holds (global coordinates); a
 *                                            parameter may come in several pieces: layers of a stack, q|k|v
 *      "file_dtype":"f32",                   element type in files (default: f32 with a master, else dtype)
 *      "shards":[{"dim":1,"axes":["tp"],"chunk":8}],  dim of the piece; rank i of the axes (first axis major) holds
 *                                            rows [i*chunk, (i+1)*chunk) cut at piece_shape[dim]; storage is always
 *                                            `chunk` rows, rows beyond the end are zero
 *      "share":{"start":s,"chunk":c,"param":false,"grad":false},  absent: each rank updates all. Else the flat storage
 *                                            stands from element s on in a row of which rank i of dp updates [i*c, (i+1)*c);
 *                                            m, v and master begin at that part; so does what lies at offset or grad
 *                                            where "param" or "grad" is true (then s = 0), else all of it does
 *      "grad_dtype":"bf16",                  of the gradient (default f32)
 *      "offset":O, "grad":O, "m":O, "v":O,   row-major storage of the local shape; m, v are f32; grad, m, v -1 if absent
 *      "master":O,                           f32 master of a 16-bit parameter, -1 if absent
 *      "decay":true,                         weight decay applies (rank of global_shape >= 2)
 *      "counts_in_norm":true,                false for the copies of a tied parameter that another stage counts
 *      "init":{"kind":"normal|zeros|ones","std":0.02} }],   absent: only --params can give it. A key is ui32[2], a
 *                                            loss_scale f32[]: the runtime sets both before a step. Gradients come
 *                                            multiplied by the latter, and are divided by it
 *   "inputs":[{"name":"batch.tokens","dtype":"i32","global_shape":[8,16],"batch_dim":0 or -1, "offset":O,
 *      "index_limit":V or 0 }],              rows of this replica: [dp*B/dpsize, ...) along batch_dim, all microbatches
 *                                            in order; values of an index input must lie in [-V, V)
 *   "results":[{"name":"loss","dtype":"f32","offset":O}],   complete scalars (rank 0 tensors) after the order ended; on
 *                                            the stages that compute them; the first is the loss
 *   "values":[{"name":"layer3.1", "dtype":"f32",   what a forward task leaves for the backward one, for a look
 *      "padded_shape":[8,16,64],             inside a step: result 1 of the block of layer 3. Whole batch, padding included
 *      "shards":[{"dim":0,"axes":["dp","mb"]}],   equal parts over these axes, first axis major; mb: the microbatch
 *      "task":"forward",                     that task, "forward.1" on another chunk
 *      "offset":O, "slab":"kept_forward_backward" }], at offset + place mb mod p of the p places
 *   "slabs":{"kept_forward_backward":[A,B,..]}   that its slab has in the arena
 *   "chunks":1,                              of each stage
 *   "turned_transfers":[value,..],           transfers of the forward pass to an earlier stage, of the backward to a later one
 *   "tasks":["prologue","forward","backward","weight_gradient","synchronize"],   of other chunks "forward.1" ...
 *   "operations":["h0.attn.wo: all_reduce over tp", ..],     named by the `operation` argument of services
 *   "order":[[task,mb,slot],..],             one step, before the optimizer
 *   "after_update":[[task,mb,slot],..] }     after it, where it was not skipped (default none)
 */

/* ---- The program of a CUDA device ("target":"cuda") ----------------------------------------------------------------
 * `arena` and every pointer that comes from it are device addresses: tasks enqueue work, on streams, and never touch
 * what they point to. "events":N in the description is how many events p3d_record and p3d_wait take. */

typedef enum { P3D_FATBIN = 0, P3D_PTX = 1, P3D_BITCODE = 2 } p3d_image_kind;

/* Kernels: a fatbin (cubins and PTX), PTX as text that ends in a NUL, or LLVM bitcode for NVVM, which the emulated
 * driver runs; of all that are there the runtime loads one kind. */
typedef struct { int32_t kind, arch; const void *data; int64_t bytes; } p3d_image;

extern const p3d_image p3d_images[];          /* of the kernels that were generated; ended by an entry with data == 0 */
extern const p3d_image p3d_library_images[];  /* of kernels/<Op>.cu; in the runtime's object, not in the emitted one */

/* Work of one stream is done in order. Kernels, the functions of kernels/Kernels.h and constants are on the compute
 * stream; a collective is on the stream of its axis; a transfer to a later stage is on the forward stream, one to an
 * earlier stage on the backward one; with chunks, one of the forward pass to an earlier stage and one of the backward
 * pass to a later stage are on the turned ones. */
typedef enum {
  P3D_STREAM_COMPUTE = 0, P3D_STREAM_TP = 1, P3D_STREAM_DP = 2, P3D_STREAM_FORWARD = 3, P3D_STREAM_BACKWARD = 4,
  P3D_STREAM_TIED = 5, P3D_STREAM_NORM = 6, P3D_STREAM_TURNED_FORWARD = 7, P3D_STREAM_TURNED_BACKWARD = 8
} p3d_stream;

/* What a device's runtime keeps in "runtime_bytes" of the arena, each piece at a multiple of P3D_DEVICE_PIECE bytes: two
 * small ones, two tables with P3D_DEVICE_ENTRY bytes for each gradient, and the constants. */
enum { P3D_DEVICE_PIECE = 256, P3D_DEVICE_ENTRY = 72 };

/* Enqueues a kernel of the images: `blocks` and `threads` in one dimension; arguments[i] points to an 8-byte value. */
void p3d_launch(p3d_context *ctx, const char *kernel, int64_t blocks, int32_t threads, void **arguments, int32_t count);

/* The device's copy of a constant of the object: made at its first use, kept, known by its address. */
void *p3d_device_constants(p3d_context *ctx, const void *host, int64_t bytes);

/* The event takes the place that `stream` has now; `stream` goes on only when that place is reached. Everything before a
 * step's order, and everything after it, the runtime orders itself. */
void p3d_record(p3d_context *ctx, int32_t event, int32_t stream);
void p3d_wait(p3d_context *ctx, int32_t event, int32_t stream);

/* ---- Services: defined by the runtime. On a CPU all block until done; all have the run's deadline; `operation` indexes
 * "operations" and is what a message names. Reductions add in the order of the rank index in the group. --------- */

/* What a command has made, and the call that it is part of, for a report of where numbers that are not finite begin; of
 * no effect but in a step that is computed again for it. */
void p3d_enter_call(p3d_context *ctx, int32_t operation);
void p3d_made(p3d_context *ctx, int32_t operation, int32_t dtype, const void *data, int64_t count);

/* Index of this rank on the axis (0-based); tp, dp, pp, tp_major or tp_minor. */
int64_t p3d_axis_index(p3d_context *ctx, int32_t axis);

/* In place over `count` elements. `group` numbers the tied group for P3D_TIED, else 0. Floats of 16 bits are reduced in
 * f32 and rounded once. */
void p3d_all_reduce(p3d_context *ctx, int32_t axis, int32_t group, int32_t kind, int32_t dtype, void *data,
                    int64_t count, int32_t operation);

/* dst[outer][full][inner] <- src[outer][chunk][inner]; rank r supplies rows [r*chunk, min((r+1)*chunk, full)). */
void p3d_all_gather(p3d_context *ctx, int32_t axis, int32_t dtype, const void *src, void *dst, int64_t outer,
                    int64_t chunk, int64_t full, int64_t inner, int32_t operation);

/* dst[outer][chunk][inner] <- sum over ranks of src[outer][full][inner], rows of this rank; rows beyond full are 0. */
void p3d_reduce_scatter(p3d_context *ctx, int32_t axis, int32_t kind, int32_t dtype, const void *src, void *dst,
                        int64_t outer, int64_t chunk, int64_t full, int64_t inner, int32_t operation);

/* From a value sharded along `gather_dim` to one sharded along `split_dim`. `shape` is the unsharded shape of `rank`
 * dimensions; src holds `gather_chunk` rows of gather_dim, dst `split_chunk` rows of split_dim. */
void p3d_all_to_all(p3d_context *ctx, int32_t axis, int32_t dtype, const void *src, void *dst, int32_t rank,
                    const int64_t *shape, int32_t gather_dim, int64_t gather_chunk, int32_t split_dim,
                    int64_t split_chunk, int32_t operation);

/* A transfer to the rank of another stage with the same tp and dp coordinates. `value` names the transfer in both
 * programs; messages of one (stage pair, value) arrive in order of their microbatch. The bytes of a send stay untouched
 * until the receiver has copied them: the runtime waits for that before a task reuses the slot. */
void p3d_send(p3d_context *ctx, int32_t to_stage, int32_t value, int64_t mb, int64_t slot, const void *data,
              int64_t bytes, int32_t operation);
void p3d_recv(p3d_context *ctx, int32_t from_stage, int32_t value, int64_t mb, void *data, int64_t bytes,
              int32_t operation);

#ifdef __cplusplus
}
#endif
#endif /* P3D_RUNTIME_H */
