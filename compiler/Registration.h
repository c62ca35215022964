// The dialects and passes that the tools know; explicit lists, since the "all" headers of MLIR take a minute to compile.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace p3d {
void registerDialects(mlir::DialectRegistry &registry);
/// Registers every pass by its name, for p3dc-opt.
void registerPasses();
} // namespace p3d
