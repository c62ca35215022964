// The safetensors format: 8 bytes of header length (little endian), a JSON
// header, then the tensors without gaps.
// https://huggingface.co/docs/safetensors
// Large models are several such files beside an index, a JSON file whose
// "weight_map" says which tensor is in which.
#pragma once
#include "runtime/Data/MappedFile.h"
#include "runtime/include/p3d/runtime.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace p3d {

struct TensorView {
  p3d_dtype dtype;
  std::vector<int64_t> shape;
  char *data; ///< may be unaligned: copy, do not dereference
  int64_t bytes;
  int64_t offset; ///< in the file
  size_t part = 0; ///< of the files of an index
};

/// A safetensors file, or the files of an index, checked as a whole when
/// opened: every fault is a user error with file, field and offset.
class SafetensorsFile {
public:
  explicit SafetensorsFile(MappedFile file);
  /// `path` may be an index "....index.json", or the name of a file that is
  /// not there but has one.
  explicit SafetensorsFile(const std::string &path);
  /// What an index of `parts`, one at least, would name.
  explicit SafetensorsFile(std::vector<SafetensorsFile> parts);

  const std::string &name() const;
  int64_t bytes() const { return file.size(); }
  /// The files of an index, by name; none if this is one file of tensors.
  const std::vector<SafetensorsFile> &parts() const { return shards; }
  const std::map<std::string, TensorView> &tensors() const { return table; }
  /// All bytes before the tensors; of an index all.
  std::string_view header() const { return {file.data(), size_t(dataStart)}; }
  /// The tensor `name`, or null.
  const TensorView *find(const std::string &name) const;
  /// The tensor `name`, which has to have this type and shape.
  const TensorView &expect(const std::string &name, p3d_dtype dtype,
                           const std::vector<int64_t> &shape) const;

private:
  void readHeader();
  void checkCoverage() const;
  void readIndex();
  void addPart(SafetensorsFile part);
  MappedFile file;
  std::vector<SafetensorsFile> shards; ///< that an index names
  int64_t dataStart = 0;
  std::map<std::string, TensorView> table;
};

struct TensorSpec {
  std::string name;
  p3d_dtype dtype;
  std::vector<int64_t> shape;
};

/// Header bytes of a file with these tensors, in this order, and the size that
/// the whole file will have. `metadata` is what readers are told beside.
std::string
safetensorsHeader(const std::vector<TensorSpec> &tensors, int64_t &fileBytes,
                  const std::map<std::string, std::string> &metadata = {});

/// A file of tensors that takes no more bytes than was asked for.
struct TensorFile {
  std::string path;
  std::vector<TensorSpec> tensors;
};

/// Puts `tensors`, in their order, into files of at most `shardBytes` (above 0) of them, or of one tensor: "<stem>-0000k-of-0000n.safetensors", or
/// `path` if one is enough.
std::vector<TensorFile> cutIntoShards(const std::string &path, const std::vector<TensorSpec> &tensors, int64_t shardBytes);
/// The name of the index of a `path` that is several files, and the text of it, as Hugging Face writes it.
std::string indexPathOf(const std::string &path);
std::string indexText(const std::vector<TensorFile> &shards);

/// "[2,3]"
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace p3d
