// How many bytes of activations a stage keeps, by counting as the literature does.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <vector>

namespace p3d {

/// Of each stage of a scheduled module: what its blocks keep for the backward pass, times the microbatches that are alive at once. Counted off the forward blocks (V. Korthikanti
/// et al., Reducing Activation Recomputation in Large Transformer Models, 2022, section 4.1, with attention that keeps no scores): the activations that products and
/// named operations read, at local sizes, a view or a gathered value with what it is made of. Statistics of rows and the buffers of transfers are left out; what
/// several blocks read counts once. A decoder layer of Llama-3 comes to 33.5 s b h / t bytes. `recompute` is a value of --recompute: selective leaves out what attention, norms and activation functions make, full all but
/// the inputs of the layers.
std::vector<int64_t> countActivations(mlir::ModuleOp scheduled, llvm::StringRef recompute);

} // namespace p3d
