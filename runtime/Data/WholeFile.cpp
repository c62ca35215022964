#include "runtime/Data/WholeFile.h"
#include "runtime/Error.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace p3d {

std::string directoryOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void syncDirectory(const std::string &directory) {
  int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
}

void writeWhole(const std::string &path, const std::string &bytes) {
  std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE *file = std::fopen(temporary.c_str(), "we");
  bool isDone = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  int failed = errno;
  if (file)
    std::fclose(file);
  if (isDone && rename(temporary.c_str(), path.c_str()) == 0)
    return syncDirectory(directoryOf(path));
  failed = isDone ? errno : failed;
  unlink(temporary.c_str());
  userError("{}: cannot be written: {}", path, std::strerror(failed));
}

} // namespace p3d
