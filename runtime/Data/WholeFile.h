// Files that appear whole or not at all.
#pragma once
#include <string>

namespace p3d {

/// The directory that holds `path`.
std::string directoryOf(const std::string &path);

/// Makes the names in `directory` outlast a loss of power, where the file system can.
void syncDirectory(const std::string &directory);

/// Writes `bytes` beside `path` under the name "<path>.<pid>.tmp", syncs and renames. A user error if that fails; then nothing is left.
void writeWhole(const std::string &path, const std::string &bytes);

} // namespace p3d
