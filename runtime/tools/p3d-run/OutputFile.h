// A safetensors file that the ranks fill in place and that appears under its
// name only when complete.
#pragma once
#include "runtime/Data/Safetensors.h"

namespace p3d {

class OutputFile {
public:
  /// Makes the file beside `path` under another name, reserves its whole size
  /// (so that a full disk shows now) and writes the header.
  OutputFile(const std::string &path, const std::vector<TensorSpec> &tensors);
  /// Removes the file unless it was committed.
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;

  /// Where the file is until it is whole.
  std::string temporaryPath() const;
  int fd() const { return fileDescriptor; }
  /// Syncs the file and gives it its name.
  void commit();

private:
  void reserve(int64_t bytes);
  std::string path, temporary;
  int fileDescriptor = -1;
};

} // namespace p3d
