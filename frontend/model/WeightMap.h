// Which tensors of a Hugging Face checkpoint make up which parameters of a model that p3d-model writes, and back. Layouts are the same on both
// sides, so that every tensor is a row of parts of others: names change, layers are stacked, the matrices of experts are joined.
#pragma once

#include "frontend/model/Decoder.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <map>

namespace p3d::model {

/// What a file holds: shapes by name.
using TensorShapes = std::map<std::string, Shape>;

struct PartOfTensor {
  std::string tensor;
  int64_t begin, count; ///< elements
};

struct TensorOfParts {
  std::string name;
  Shape shape;
  std::vector<PartOfTensor> parts;
};

struct WeightMap {
  std::string summary;            ///< what was recognised
  std::vector<std::string> notes; ///< on what is left out
  std::vector<TensorOfParts> tensors;
};

/// A checkpoint and what is known of it.
struct Checkpoint {
  const TensorShapes &tensors;
  llvm::function_ref<bool(llvm::StringRef, llvm::StringRef)> areEqual; ///< type, shape and bytes of two of the tensors
};

/// The names of the other side for all of `checkpoint`: parameters of a model of p3d-model, "params....", for those of a checkpoint of Hugging Face,
/// and back. `config` is the text of its config.json; without it the model is told by names and shapes. `scan` stacks the layers of parameters.
/// An error, one complaint a line, for what is missing, has another shape, or has no place on the other side.
llvm::Expected<WeightMap> mapWeights(const Checkpoint &checkpoint, std::optional<llvm::StringRef> config, bool scan);

} // namespace p3d::model
