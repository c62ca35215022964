// How many bytes of activations the layers of a stage keep, by counting as the literature does.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <vector>

namespace p3d {

/// Of each stage of a scheduled module: what its layers keep for the backward pass, times the microbatches that are alive at once. Counted off the forward blocks (V. Korthikanti
/// et al., Reducing Activation Recomputation in Large Transformer Models, 2022, section 4.1, with attention that keeps no scores): the activations that products and
/// named operations read, at local sizes, a view or a gathered value with what it is made of. Statistics of rows, the buffers of transfers, and what stands before and
/// behind the layers are left out. `recompute` is a value of --recompute: selective leaves out what attention, norms and activation functions make, full all but
/// the inputs of the layers.
std::vector<int64_t> countActivations(mlir::ModuleOp scheduled, llvm::StringRef recompute);

} // namespace p3d
