// p3d-model --map: files of weights from Hugging Face's names to those of p3d-model and back.
#pragma once

#include <cstdint>
#include <string>

namespace p3d::tools {

struct WeightConversion {
  std::string input, config; ///< no config: the model is told by its tensors
  std::string output;
  std::string dtype; ///< of all tensors, as programs name it; empty: as they are
  bool scan = false;
  int64_t shardBytes = 0;
};

/// Converts and says what it did; the exit code of the program.
int convertWeights(const WeightConversion &conversion);

} // namespace p3d::tools
