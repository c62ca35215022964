// The dist dialect: where values live on the mesh, and the collectives that move them.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include "dialects/Dist/DistDialect.h.inc"
#include "dialects/Dist/DistEnums.h.inc"

namespace p3d::dist {

/// How one dimension is cut: the axes, major first, and the rows of a shard (0 for an uncut dimension).
struct DimSharding {
  llvm::SmallVector<Axis, 2> axes;
  int64_t chunk = 0;
  bool operator==(const DimSharding &other) const { return axes == other.axes && chunk == other.chunk; }
};
inline llvm::hash_code hash_value(const DimSharding &dim) {
  return llvm::hash_combine(llvm::hash_combine_range(dim.axes.begin(), dim.axes.end()), dim.chunk);
}

// On the module: the mesh. On arguments and results of programs and blocks: their sharding. On an op: the shardings of its results (an array).
inline constexpr llvm::StringLiteral kMeshAttr = "dist.mesh";
inline constexpr llvm::StringLiteral kShardingAttr = "dist.sharding";
inline constexpr llvm::StringLiteral kShardingsAttr = "dist.shardings";
// On the module: the classes of dimensions that are cut alike (passes/Shard), an array of {axis = "tp", dims = {"params.h*.up" = array<i64: 1>}, units = 64}.
inline constexpr llvm::StringLiteral kClassesAttr = "dist.classes";
// On a graph op that depends on positions: which part of the dimension its operands hold.
inline constexpr llvm::StringLiteral kShardAttr = "dist.shard";
// Beside kShardingAttr on arguments and results of a program after partition, and on ops whose results have dimensions that their operands lack: their whole type.
inline constexpr llvm::StringLiteral kGlobalTypeAttr = "dist.global_type";

} // namespace p3d::dist

#define GET_ATTRDEF_CLASSES
#include "dialects/Dist/DistAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Dist/DistOps.h.inc"
