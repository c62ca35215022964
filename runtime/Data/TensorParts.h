// Tensors put together of parts of others, as weights change their names, stacking and type.
#pragma once
#include "runtime/Data/Safetensors.h"

namespace p3d {

/// Elements of a tensor of a file that is mapped for reading.
struct TensorPart {
  std::string name; ///< of the tensor, for messages
  const TensorView *from;
  int64_t begin, count;
};

/// A tensor to be written: its parts in their order. They are floats of at most 32 bits, rounded to the type of `spec`.
struct PartedTensor {
  TensorSpec spec;
  std::vector<TensorPart> parts;
};

/// The type that all parts have. A user error where they differ, or have none that writeParted() converts.
p3d_dtype commonType(const std::string &name, const std::vector<TensorPart> &parts);
/// A user error unless `part` has a type that writeParted() converts.
void checkConvertible(const TensorPart &part);

/// Writes `tensors` to the safetensors file `path` and returns its name. Where they take more than `shardBytes` (above 0), writes files
/// "<stem>-0000k-of-0000n.safetensors" of at most that, or of one tensor, and last the index "<path>.index.json" that names them, as
/// Hugging Face does, and returns that name. All files appear together, or none. Holds no more memory than pages of one tensor.
/// A user error for a finite number that the type of a tensor has not.
std::string writeParted(const std::string &path, const std::vector<PartedTensor> &tensors, int64_t shardBytes);

} // namespace p3d
