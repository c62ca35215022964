// Sharding annotations as exporters write them, in one form: sdy.sharding over a mesh that is written out.
#pragma once

#include "dialects/StableHLO/StableHLO.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace p3d::import {

/// The sharding that the attributes of an argument, result or operation in `module` give to a tensor of `type`: sdy.sharding, its text in mhlo.frontend_attributes,
/// or mhlo.sharding, the string of GSPMD. Null if they say nothing. Emits an error at `location` for what cannot be read, or says that the module is partitioned already.
///
/// GSPMD knows no names: an axis is called by its size and the distance of its devices, "4x1" of 4 neighbours. {replicated} says nothing of an argument, since JAX writes it
/// on those that nobody annotated; of a constraint (`isConstraint`) it says that every dimension is whole.
mlir::FailureOr<sdy::TensorShardingAttr> readAnnotation(mlir::ModuleOp module, mlir::Location location, mlir::DictionaryAttr attributes, mlir::Type type,
                                                        bool isConstraint);

/// The same sharding with its mesh written out, where it names one of `module`.
mlir::FailureOr<sdy::TensorShardingAttr> inlineMesh(mlir::ModuleOp module, mlir::Location location, sdy::TensorShardingAttr sharding);

} // namespace p3d::import
