// A file mapped for reading, or an inherited one mapped for writing.
#pragma once
#include <cstdint>
#include <string>

namespace p3d {

class MappedFile {
public:
  MappedFile() = default;
  /// Maps `path` read-only; a user error that names it if that fails.
  explicit MappedFile(const std::string &path);
  /// Maps the file behind `fd` for writing; `name` is for messages.
  MappedFile(int fd, const std::string &name);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  char *data() const { return base; }
  int64_t size() const { return bytes; }
  const std::string &name() const { return label; }

private:
  void map(int fd, int protection, int flags);
  char *base = nullptr;
  int64_t bytes = 0;
  std::string label;
};

/// Lets go of the memory behind these bytes of a file that is mapped for
/// reading; it is read again when needed.
void releasePages(const char *data, int64_t bytes);

} // namespace p3d
