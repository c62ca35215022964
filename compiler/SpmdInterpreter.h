// The meaning of a module of the level partition: all ranks and microbatches evaluated in lock step, in double precision.
//
// A value is a tensor for each rank. One walk over the program executes each operation for all ranks; collectives move between the tensors of one value. What
// single programs mean is dialects/Graph/Interpreter.h.
#pragma once

#include "dialects/Graph/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"

namespace p3d {

/// The program's results on whole `inputs`, as whole tensors of the types before partitioning. Every rank of tp x dp is given its shards of the inputs (pp cuts nothing yet), the
/// program is run once for each microbatch, and results are put together by their shardings: parts of cut dimensions joined, partial values reduced.
///
/// Padding in storage holds NaN (in integers: a large number), so that a missing mask shows. Emits an error if the ranks or microbatches disagree on what is replicated
/// over them, if the padding of a gradient is not zero, if `inputs` do not fit, or if an operation has no meaning at this level.
mlir::FailureOr<graph::Tensors> interpretSpmd(mlir::ModuleOp module, llvm::ArrayRef<graph::Tensor> inputs);

} // namespace p3d
