// Files that appear whole or not at all.
#pragma once
#include <cstdint>
#include <string>

namespace p3d {

/// The directory that holds `path`.
std::string directoryOf(const std::string &path);

/// Makes the names in `directory` outlast a loss of power, where the file system can.
void syncDirectory(const std::string &directory);

/// A file that is written beside `path` under the name "<path>.<pid>.tmp" and renamed when it is whole. What cannot be done is a user error;
/// then, and without keep(), nothing is left.
class WholeFile {
public:
  explicit WholeFile(const std::string &path);
  WholeFile(WholeFile &&other) noexcept;
  WholeFile &operator=(WholeFile &&) = delete;
  ~WholeFile();

  void append(const void *data, int64_t bytes);
  /// Nothing is appended any more: brings all of it to the disk.
  void finish();
  /// Gives the finished file its name.
  void keep();

private:
  [[noreturn]] void fail(int why);
  std::string path, temporary; ///< no temporary: nothing to remove
  int fd = -1;
};

/// Writes a whole file of `bytes`.
void writeWhole(const std::string &path, const std::string &bytes);

} // namespace p3d
