#include "runtime/Data/TensorParts.h"
#include "runtime/DType.h"
#include "runtime/Data/WholeFile.h"
#include "runtime/Error.h"
#include <algorithm>
#include <cmath>
#include <filesystem>

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

/// Writes the tensors of `shard`, which follow one another from `next` on.
WholeFile writeShard(const TensorFile &shard, const PartedTensor *&next) {
  int64_t bytes;
  // Hugging Face refuses files that do not name the layout of a framework.
  std::string header = safetensorsHeader(shard.tensors, bytes, {{"format", "pt"}});
  WholeFile file(shard.path);
  file.append(header.data(), int64_t(header.size()));
  for (size_t i = 0; i < shard.tensors.size(); ++i, ++next) {
    PartWriter writer(file, *next);
    for (const TensorPart &part : next->parts)
      writer.write(part);
  }
  file.finish();
  return file;
}
} // namespace

std::string writeParted(const std::string &path, const std::vector<PartedTensor> &tensors, int64_t shardBytes) {
  std::vector<TensorSpec> specs;
  for (const PartedTensor &tensor : tensors)
    specs.push_back(tensor.spec);
  std::vector<TensorFile> shards = cutIntoShards(path, specs, shardBytes);
  const PartedTensor *next = tensors.data();
  if (shards.size() == 1) {
    writeShard(shards.front(), next).keep();
    return path;
  }
  if (std::filesystem::exists(path))
    userError("{}: is there already and would be read in place of the {} files that its size of at most {} bytes asks for; remove it, or name "
              "another",
              path, shards.size(), shardBytes);
  std::vector<WholeFile> files;
  for (const TensorFile &shard : shards)
    files.push_back(writeShard(shard, next));
  std::string text = indexText(shards), indexPath = indexPathOf(path);
  files.emplace_back(indexPath);
  files.back().append(text.data(), int64_t(text.size()));
  files.back().finish();
  for (WholeFile &file : files)
    file.keep();
  return indexPath;
}

} // namespace p3d
