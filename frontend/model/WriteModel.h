// A module whose function @main is the training loss of a decoder.
#pragma once

#include "frontend/model/Decoder.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace p3d::model {

/// `@main(parameters..., input_ids, labels) -> loss`, each argument located at its name as JAX writes it. A layer is
/// the private function `@layer`, called once for each layer, or with `scan` in a loop over stacked parameters [layers,
/// ...].
mlir::OwningOpRef<mlir::ModuleOp> writeModel(mlir::MLIRContext *context, const Decoder &decoder, const Workload &load,
                                             bool scan);

/// The number of elements of all parameters.
int64_t parameterCount(const Decoder &decoder);

} // namespace p3d::model
