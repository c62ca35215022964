// The parameters and the batch of a model as its stages hold them.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "llvm/Support/JSON.h"

namespace p3d {

/// "total" elements, and under "names" shape, dtype, sharding and stages of every parameter of the user.
llvm::json::Object describeParameters(llvm::ArrayRef<pipe::StageOp> stages);

struct BatchSize {
  int64_t rows = 1;   ///< the global batch
  int64_t tokens = 1; ///< elements of the first integer input of two dimensions, else the rows
};
BatchSize findBatchSize(llvm::ArrayRef<pipe::StageOp> stages);

} // namespace p3d
