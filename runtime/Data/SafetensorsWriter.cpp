// The header of a safetensors file to be written; the ranks then write the
// tensors in place.
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include <nlohmann/json.hpp>

namespace p3d {

std::string
safetensorsHeader(const std::vector<TensorSpec> &tensors, int64_t &fileBytes,
                  const std::map<std::string, std::string> &metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const TensorSpec &tensor : tensors) {
    int64_t bytes = info(tensor.dtype).bytes;
    for (int64_t extent : tensor.shape)
      bytes *= extent;
    header[tensor.name] = {{"dtype", info(tensor.dtype).fileName},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  // Spaces may follow the header; so every tensor starts aligned to 8 bytes if
  // its predecessors are.
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t length = text.size();
  std::string head(reinterpret_cast<const char *>(&length), 8);
  fileBytes = int64_t(8 + text.size()) + offset;
  return head + text;
}

} // namespace p3d
