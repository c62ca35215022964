// The levels of the compiler, in order: the one table that --emit, --from, --dump and --help read.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "mlir/Pass/PassManager.h"

namespace p3d {

struct Options;

struct Level {
  const char *name;
  const char *meaning;
  /// Adds the passes from the level before to this one; the last verifies this level's invariant.
  void (*build)(mlir::OpPassManager &passes, const Options &options);
};

llvm::ArrayRef<Level> levels();

} // namespace p3d
