// What says where tensors are in files to be written: headers, shards, and
// their index.
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace p3d {

static int64_t bytesOf(const TensorSpec &tensor) {
  int64_t bytes = info(tensor.dtype).bytes;
  for (int64_t extent : tensor.shape)
    bytes *= extent;
  return bytes;
}

std::string
safetensorsHeader(const std::vector<TensorSpec> &tensors, int64_t &fileBytes,
                  const std::map<std::string, std::string> &metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const TensorSpec &tensor : tensors) {
    int64_t bytes = bytesOf(tensor);
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

static std::string stemOf(const std::string &path) {
  std::string suffix = ".safetensors";
  bool has = path.size() > suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
  return has ? path.substr(0, path.size() - suffix.size()) : path;
}

std::vector<TensorFile> cutIntoShards(const std::string &path, const std::vector<TensorSpec> &tensors, int64_t shardBytes) {
  std::vector<TensorFile> shards(1);
  int64_t bytes = 0;
  for (const TensorSpec &tensor : tensors) {
    int64_t more = bytesOf(tensor);
    if (!shards.back().tensors.empty() && bytes + more > shardBytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().tensors.push_back(tensor);
    bytes += more;
  }
  for (size_t i = 0; i < shards.size(); ++i)
    shards[i].path = shards.size() == 1 ? path : fmt::format("{}-{:05}-of-{:05}.safetensors", stemOf(path), i + 1, shards.size());
  return shards;
}

std::string indexText(const std::vector<TensorFile> &shards) {
  nlohmann::json index;
  int64_t total = 0;
  for (const TensorFile &shard : shards)
    for (const TensorSpec &tensor : shard.tensors) {
      index["weight_map"][tensor.name] = shard.path.substr(shard.path.rfind('/') + 1);
      total += bytesOf(tensor);
    }
  index["metadata"]["total_size"] = total;
  return index.dump(2) + "\n";
}

} // namespace p3d
