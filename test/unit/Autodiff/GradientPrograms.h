// Programs around the blocks of the gradient cases.
#pragma once

#include "GradientCases.h"
#include "Programs.h"

namespace p3d {

/// Adds to the module of block @f a program that calls it and weighs its result; with `isInline` the program has the block's body instead.
void addProgram(mlir::ModuleOp module, bool isInline);

/// Inputs for that program: the block's arguments and the weights.
std::vector<graph::Tensor> seededInputs(graph::BlockOp block);

/// Runs the pass on `module`.
mlir::LogicalResult differentiate(mlir::ModuleOp module, llvm::StringRef recompute);

} // namespace p3d
