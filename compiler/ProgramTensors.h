// A program's arguments from files that hold whole tensors under the user's names, and its results as such tensors.
#pragma once

#include "compiler/TensorFile.h"

namespace p3d {

/// The argument `index` of `program`, found by its `graph.name` in the first of `files` that has it; of a piece the part that the argument holds.
/// An error names the argument and what was expected.
llvm::Expected<graph::Tensor> argumentFrom(graph::ProgramOp program, unsigned index, llvm::ArrayRef<TensorFile> files);

/// All arguments of `program`, from the files at `paths`.
llvm::Expected<std::vector<graph::Tensor>> argumentsFrom(graph::ProgramOp program, llvm::ArrayRef<std::string> paths);

/// `results` under their `graph.name`, pieces put together. A result without a name is `result<N>`.
NamedTensors namedResults(graph::ProgramOp program, llvm::ArrayRef<graph::Tensor> results);

} // namespace p3d
