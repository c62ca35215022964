// The families of models that p3d-model writes, by `model_type` of a config.json.
#pragma once

#include "frontend/model/ConfigFields.h"
#include "frontend/model/Decoder.h"
#include <array>

namespace p3d::model {

/// A model read from the fields of a config.json. What is refused is left with `fields`; the result is then of no use.
using ReadDecoder = std::unique_ptr<Decoder>(ConfigFields &fields, int64_t sequence);

std::unique_ptr<Decoder> readGpt2(ConfigFields &fields, int64_t sequence);
std::unique_ptr<Decoder> readLlama(ConfigFields &fields, int64_t sequence);
std::unique_ptr<Decoder> readMixtral(ConfigFields &fields, int64_t sequence);

/// The sizes of a checkpoint's tensors, under the names of Hugging Face, by which a config can be told.
class CheckpointSizes {
public:
  virtual ~CheckpointSizes() = default;
  virtual bool has(llvm::StringRef tensor) const = 0;
  /// Dimension `dimension` of a tensor; of one that is missing 1, which the comparison with the model then finds.
  virtual int64_t size(llvm::StringRef tensor, unsigned dimension) const = 0;
};

/// The fields of a config.json on which names and shapes of parameters depend.
using DescribeCheckpoint = void(const CheckpointSizes &sizes, llvm::json::Object &config);

void describeGpt2(const CheckpointSizes &sizes, llvm::json::Object &config);
void describeLlama(const CheckpointSizes &sizes, llvm::json::Object &config);
void describeMixtral(const CheckpointSizes &sizes, llvm::json::Object &config);

struct Family {
  llvm::StringLiteral modelType, architecture;
  ReadDecoder *read;
  DescribeCheckpoint *describe;
  /// How the names of its layers' parameters begin, "model.layers", and the field of the config for their number.
  llvm::StringLiteral layerPrefix, layersField;
  llvm::StringLiteral embedding; ///< that the head may share
  /// Parts of names that only its checkpoints have.
  std::array<llvm::StringLiteral, 2> marks;
  /// How names end of tensors in checkpoints that are no parameters: tables that the model makes itself.
  std::array<llvm::StringLiteral, 2> buffers;
};
llvm::ArrayRef<Family> families();

/// The model of a config.json, for sequences of that length. Adds to `notes` what the loss leaves out.
llvm::Expected<std::unique_ptr<Decoder>> readConfig(llvm::StringRef json, int64_t sequence,
                                                    std::vector<std::string> &notes);

} // namespace p3d::model
