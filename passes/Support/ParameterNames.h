// The names of the parameters that a value is made of.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace p3d {

/// Names that differ in numbers only become one, with `*` for the numbers that differ: params.h0.w, params.h1.w ->
/// params.h*.w. Each once, in their order.
llvm::SmallVector<std::string> generalizeNames(llvm::ArrayRef<std::string> names);
/// "a", "a and b", "a, b and c"; of more than `most` the first ones "and 3 more".
std::string joinNames(llvm::ArrayRef<std::string> names, size_t most = 4);

/// Finds the parameters of a program behind the values of the blocks that it calls.
class ParameterNames {
public:
  explicit ParameterNames(mlir::ModuleOp module);

  /// Generalized over all calls of the block that `value` stands in. Looks through what only moves or converts
  /// elements; nothing for a value that is no parameter.
  llvm::SmallVector<std::string> of(mlir::Value value) const;

private:
  void collect(mlir::Value value, llvm::SmallVectorImpl<std::string> &names) const;

  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<graph::CallOp>> calls;
};

} // namespace p3d
