// The families of models that p3d-model writes, by `model_type` of a config.json.
#pragma once

#include "frontend/model/ConfigFields.h"
#include "frontend/model/Decoder.h"

namespace p3d::model {

/// A model read from the fields of a config.json. What is refused is left with `fields`; the result is then of no use.
using ReadDecoder = std::unique_ptr<Decoder>(ConfigFields &fields, int64_t sequence);

std::unique_ptr<Decoder> readGpt2(ConfigFields &fields, int64_t sequence);
std::unique_ptr<Decoder> readLlama(ConfigFields &fields, int64_t sequence);
std::unique_ptr<Decoder> readMixtral(ConfigFields &fields, int64_t sequence);

struct Family {
  llvm::StringLiteral modelType, architecture;
  ReadDecoder *read;
};
llvm::ArrayRef<Family> families();

/// The model of a config.json, for sequences of that length. Adds to `notes` what the loss leaves out.
llvm::Expected<std::unique_ptr<Decoder>> readConfig(llvm::StringRef json, int64_t sequence,
                                                    std::vector<std::string> &notes);

} // namespace p3d::model
