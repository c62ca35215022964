// The services of runtime.h: publish the operation, hand it to the transport,
// and turn an exception into the end of the rank, since emitted code has no
// unwind tables.
#include "runtime/Context.h"
#include "runtime/DType.h"
#include "runtime/Guard.h"
#include <unistd.h>

void p3d_context::enterTask(const std::string &task, int64_t mb) {
  p3d::setText(area().task, task);
  area().mb.store(mb, std::memory_order_relaxed);
}

void p3d_context::enterOperation(const std::string &operation) {
  p3d::setText(area().operation, operation);
}

void p3d_context::enterOperation(int32_t operation) {
  if (operation < 0 || size_t(operation) >= program.operations.size())
    enterOperation(fmt::format("operation {}", operation));
  else
    enterOperation(program.operations[operation]);
}

void p3d_context::fail(p3d::ExitCode code, const std::string &text) {
  control.reportFailure(rank, code, text);
  _exit(int(code));
}

namespace {

template <typename Body>
void serve(p3d_context *ctx, int32_t operation, Body body) {
  p3d::guard(ctx, [&] {
    ctx->enterOperation(operation);
    p3d::TraceScope traced(*ctx, p3d::TraceEvent::Kind::Operation, operation);
    body();
  });
}

p3d_axis toAxis(int32_t axis) {
  p3d::axisName(p3d_axis(axis)); // throws for a number that is none
  return p3d_axis(axis);
}

p3d_dtype toDType(int32_t dtype) { return p3d::info(p3d_dtype(dtype)).dtype; }

} // namespace

extern "C" {

void p3d_enter_call(p3d_context *ctx, int32_t operation) {
  if (ctx->check)
    ctx->check->enterCall(operation);
}

void p3d_made(p3d_context *ctx, int32_t operation, int32_t dtype, const void *data, int64_t count) {
  if (ctx->check)
    p3d::guard(ctx, [&] { ctx->check->read(operation, toDType(dtype), data, count); });
}

int64_t p3d_axis_index(p3d_context *ctx, int32_t axis) {
  return p3d::guard(ctx, [&] { return int64_t(ctx->program.mesh.along(toAxis(axis), ctx->at)); });
}

void p3d_all_reduce(p3d_context *ctx, int32_t axis, int32_t group, int32_t kind,
                    int32_t dtype, void *data, int64_t count,
                    int32_t operation) {
  serve(ctx, operation, [&] {
    ctx->transport.allReduce(toAxis(axis), group, p3d_reduce_kind(kind),
                             toDType(dtype), data, count);
  });
}

void p3d_all_gather(p3d_context *ctx, int32_t axis, int32_t dtype,
                    const void *src, void *dst, int64_t outer, int64_t chunk,
                    int64_t full, int64_t inner, int32_t operation) {
  serve(ctx, operation, [&] {
    ctx->transport.allGather(toAxis(axis), toDType(dtype), src, dst, outer,
                             chunk, full, inner);
  });
}

void p3d_reduce_scatter(p3d_context *ctx, int32_t axis, int32_t kind,
                        int32_t dtype, const void *src, void *dst,
                        int64_t outer, int64_t chunk, int64_t full,
                        int64_t inner, int32_t operation) {
  serve(ctx, operation, [&] {
    ctx->transport.reduceScatter(toAxis(axis), p3d_reduce_kind(kind),
                                 toDType(dtype), src, dst, outer, chunk, full,
                                 inner);
  });
}

void p3d_all_to_all(p3d_context *ctx, int32_t axis, int32_t dtype,
                    const void *src, void *dst, int32_t rank,
                    const int64_t *shape, int32_t gather_dim,
                    int64_t gather_chunk, int32_t split_dim,
                    int64_t split_chunk, int32_t operation) {
  serve(ctx, operation, [&] {
    ctx->transport.allToAll(toAxis(axis), toDType(dtype), src, dst, rank, shape,
                            gather_dim, gather_chunk, split_dim, split_chunk);
  });
}

void p3d_send(p3d_context *ctx, int32_t to_stage, int32_t value, int64_t mb,
              int64_t slot, const void *data, int64_t bytes,
              int32_t operation) {
  serve(ctx, operation,
        [&] { ctx->transport.send(to_stage, value, mb, slot, data, bytes); });
}

void p3d_recv(p3d_context *ctx, int32_t from_stage, int32_t value, int64_t mb,
              void *data, int64_t bytes, int32_t operation) {
  serve(ctx, operation,
        [&] { ctx->transport.receive(from_stage, value, mb, data, bytes); });
}

} // extern "C"
