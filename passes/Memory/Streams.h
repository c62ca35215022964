// What a command does on which stream, and with which memory: the common ground of placing events and of checking them.
#pragma once

#include "dialects/Exec/ExecOps.h"

namespace p3d::memory {

/// Part of an argument, a buffer, or the scratch (`root` is then null), in bytes.
struct Place {
  void *root;
  int64_t begin, end;
};

struct Access {
  Place place;
  bool writes;
};

/// True if the order of the two matters.
bool isConflict(const Access &a, const Access &b);

/// The stream of a command; `stage` is the program's.
exec::Stream streamOf(exec::Command command, int64_t stage);

/// Everything that a command reads or writes, the scratch that it gives to a callee included. Constants are left out: nothing writes them.
llvm::SmallVector<Access> accessesOf(exec::Command command, const mlir::SymbolTable &symbols);

/// Which activations of a planned program have bytes in common, one after the other, for the same microbatch.
class SharedPlaces {
public:
  explicit SharedPlaces(exec::ProgramOp program);

  /// Of the roots of two places.
  bool share(void *a, void *b);

private:
  exec::BufferOp activation(void *root);

  const mlir::SymbolTable symbols;
  int64_t microbatches = 1;
  llvm::DenseMap<std::pair<void *, void *>, bool> known;
};

/// Whether the order behind the command is the runtime's: it waits before the slot that is sent from is used again.
bool isOrderedByRuntime(exec::Command command);

} // namespace p3d::memory
