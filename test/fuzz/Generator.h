// A random training program with a mesh and annotations, from a seed.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace p3d::fuzz {

// On the module of a case: sizes of tp, dp and microbatches, and --sequence-parallel.
inline constexpr llvm::StringLiteral kMeshAttr = "fuzz.mesh";
inline constexpr llvm::StringLiteral kSequenceAttr = "fuzz.sequence_parallel";

/// A module with one flat graph.program: parameters and inputs with roles, a scalar loss, now and then metrics, repeated layers and annotations.
mlir::OwningOpRef<mlir::ModuleOp> generate(mlir::MLIRContext &context, uint64_t seed);

} // namespace p3d::fuzz
