// Which gradients share a message: those that are complete one after the other, up to a size.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace p3d {

/// What is complete first comes first: its message can go beside the rest of the backward pass where the target can. Buffers of one message are neighbours in memory too.
void sortByCompletion(pipe::StageOp stage);

/// Buffers of one message each: neighbours of the list that have the same key, of at most `bucketBytes` together (a larger one is alone).
std::vector<llvm::SmallVector<pipe::BufferOp>> makeBuckets(llvm::ArrayRef<pipe::BufferOp> buffers, int64_t bucketBytes,
                                                           llvm::function_ref<mlir::Attribute(pipe::BufferOp)> keyOf);

/// The symbols of a bucket, as an attribute.
mlir::ArrayAttr namesOf(llvm::ArrayRef<pipe::BufferOp> bucket);

/// The gradient buffers of a stage.
llvm::SmallVector<pipe::BufferOp> gradientsOf(pipe::StageOp stage);

/// Whether what a microbatch adds to a buffer, or a value of it, is partial over `axis` itself.
bool isPartial(pipe::BufferOp buffer, dist::Axis axis);

} // namespace p3d
