#include "passes/Support/Pieces.h"
#include "llvm/ADT/Sequence.h"

llvm::SmallVector<int64_t> p3d::matchPieceDims(llvm::ArrayRef<int64_t> held, mlir::DenseI64ArrayAttr piece) {
  if (!piece)
    return llvm::to_vector(llvm::seq<int64_t>(0, held.size()));
  llvm::SmallVector<int64_t> dims;
  int64_t next = 0, dropped = piece.size() - held.size();
  for (int64_t size : piece.asArrayRef()) {
    bool drop = dropped > 0 && size == 1 && (next == int64_t(held.size()) || held[next] != 1);
    dims.push_back(drop ? -1 : next);
    drop ? --dropped : ++next;
  }
  return dims;
}
