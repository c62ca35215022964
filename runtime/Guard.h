// Where exceptions end: below emitted code, which has no unwind tables.
#pragma once
#include "runtime/Context.h"

namespace p3d {

/// Runs `body`; an exception becomes the end of the rank.
template <typename Body> auto guard(p3d_context *ctx, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error &error) {
    ctx->fail(error.code(), error.what());
  } catch (const std::exception &error) {
    ctx->fail(ExitCode::InternalError, error.what());
  }
}

} // namespace p3d
