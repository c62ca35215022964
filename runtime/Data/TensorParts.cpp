#include "runtime/Data/TensorParts.h"
#include "runtime/DType.h"
#include "runtime/Data/WholeFile.h"
#include "runtime/Error.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace p3d {

static constexpr p3d_dtype convertible[] = {P3D_F32, P3D_BF16, P3D_F16};

void checkConvertible(const TensorPart &part) {
  if (std::find(std::begin(convertible), std::end(convertible), part.from->dtype) == std::end(convertible))
    userError("tensor {} has type {}, expected F32, BF16 or F16", part.name, info(part.from->dtype).fileName);
}

p3d_dtype commonType(const std::string &name, const std::vector<TensorPart> &parts) {
  for (const TensorPart &part : parts) {
    checkConvertible(part);
    if (part.from->dtype != parts.front().from->dtype)
      userError("{} is made of tensors of several types: {} is {}, {} is {}; --dtype makes them one", name, parts.front().name,
                info(parts.front().from->dtype).fileName, part.name, info(part.from->dtype).fileName);
  }
  return parts.front().from->dtype;
}

static int64_t bytesOf(const TensorSpec &spec) {
  int64_t bytes = info(spec.dtype).bytes;
  for (int64_t extent : spec.shape)
    bytes *= extent;
  return bytes;
}

namespace {
/// Copies parts to a file in chunks, so that no tensor is in memory as a whole.
class PartWriter {
public:
  PartWriter(WholeFile &file, const PartedTensor &tensor) : file(file), tensor(tensor), size(info(tensor.spec.dtype).bytes) {}

  void write(const TensorPart &part) {
    int64_t size = info(part.from->dtype).bytes;
    const char *from = part.from->data + part.begin * size;
    for (int64_t begin = 0; begin < part.count; begin += chunk) {
      int64_t count = std::min(chunk, part.count - begin);
      if (part.from->dtype == tensor.spec.dtype)
        file.append(from + begin * size, count * size);
      else
        convert(part, from + begin * size, part.begin + begin, count);
    }
    releasePages(from, part.count * size);
  }

private:
  static constexpr int64_t chunk = 1 << 18; ///< elements

  void convert(const TensorPart &part, const char *from, int64_t index, int64_t count) {
    int64_t fromSize = info(part.from->dtype).bytes;
    buffer.resize(size_t(count * size));
    for (int64_t i = 0; i < count; ++i) {
      char element[4];
      std::memcpy(element, from + i * fromSize, size_t(fromSize));
      double value = loadFloat(part.from->dtype, element, 0);
      storeFloat(tensor.spec.dtype, buffer.data(), i, value);
      if (std::isfinite(value) && !std::isfinite(loadFloat(tensor.spec.dtype, buffer.data(), i)))
        userError("tensor {} holds {} at element {}, beyond what {} can hold; write BF16 or F32", part.name, value, index + i,
                  info(tensor.spec.dtype).fileName);
    }
    file.append(buffer.data(), count * size);
  }

  WholeFile &file;
  const PartedTensor &tensor;
  int64_t size;
  std::vector<char> buffer;
};

/// The tensors of each file: as many as fit.
std::vector<std::vector<const PartedTensor *>> cutIntoShards(const std::vector<PartedTensor> &tensors, int64_t shardBytes) {
  std::vector<std::vector<const PartedTensor *>> shards(1);
  int64_t bytes = 0;
  for (const PartedTensor &tensor : tensors) {
    int64_t more = bytesOf(tensor.spec);
    if (!shards.back().empty() && bytes + more > shardBytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(&tensor);
    bytes += more;
  }
  return shards;
}

WholeFile writeShard(const std::string &path, const std::vector<const PartedTensor *> &tensors) {
  std::vector<TensorSpec> specs;
  for (const PartedTensor *tensor : tensors)
    specs.push_back(tensor->spec);
  int64_t bytes;
  // Hugging Face refuses files that do not name the layout of a framework.
  std::string header = safetensorsHeader(specs, bytes, {{"format", "pt"}});
  WholeFile file(path);
  file.append(header.data(), int64_t(header.size()));
  for (const PartedTensor *tensor : tensors) {
    PartWriter writer(file, *tensor);
    for (const TensorPart &part : tensor->parts)
      writer.write(part);
  }
  file.finish();
  return file;
}

std::string stemOf(const std::string &path) {
  std::string suffix = ".safetensors";
  bool has = path.size() > suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
  return has ? path.substr(0, path.size() - suffix.size()) : path;
}
} // namespace

std::string writeParted(const std::string &path, const std::vector<PartedTensor> &tensors, int64_t shardBytes) {
  auto shards = cutIntoShards(tensors, shardBytes);
  if (shards.size() == 1) {
    writeShard(path, shards.front()).keep();
    return path;
  }
  if (std::filesystem::exists(path))
    userError("{}: is there already and would be read in place of the {} files that its size of at most {} bytes asks for; remove it, or name "
              "another",
              path, shards.size(), shardBytes);
  nlohmann::ordered_json index;
  int64_t total = 0;
  std::vector<WholeFile> files;
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string name = fmt::format("{}-{:05}-of-{:05}.safetensors", stemOf(path), i + 1, shards.size());
    files.push_back(writeShard(name, shards[i]));
    for (const PartedTensor *tensor : shards[i]) {
      index["weight_map"][tensor->spec.name] = name.substr(name.rfind('/') + 1);
      total += bytesOf(tensor->spec);
    }
  }
  index["metadata"]["total_size"] = total;
  std::string text = index.dump(2) + "\n", indexPath = path + ".index.json";
  files.emplace_back(indexPath);
  files.back().append(text.data(), int64_t(text.size()));
  files.back().finish();
  for (WholeFile &file : files)
    file.keep();
  return indexPath;
}

} // namespace p3d
