// The chain of layers through the chunks of the stages.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "passes/Support/Placement.h"

namespace p3d {

/// How the chunks of `stages`, which stand in the order of their index, follow each other along the layers.
Placement findPlacement(llvm::ArrayRef<pipe::StageOp> stages);

} // namespace p3d
