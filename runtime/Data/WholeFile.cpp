#include "runtime/Data/WholeFile.h"
#include "runtime/Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

WholeFile::WholeFile(const std::string &path) : path(path) {
  // The rename would replace a device, /dev/null say, for everybody.
  struct stat present;
  if (stat(path.c_str(), &present) == 0 && !S_ISREG(present.st_mode))
    userError("{}: is no regular file; name one, or a new one", path);
  std::string beside = fmt::format("{}.{}.tmp", path, getpid());
  fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    fail(errno);
  temporary = beside;
}

WholeFile::WholeFile(WholeFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::exchange(other.temporary, "")), fd(std::exchange(other.fd, -1)) {}

WholeFile::~WholeFile() {
  if (fd >= 0)
    close(fd);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

void WholeFile::fail(int why) { userError("{}: cannot be written: {}", path, std::strerror(why)); }

void WholeFile::append(const void *data, int64_t bytes) {
  const char *from = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = write(fd, from, size_t(bytes));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail(errno);
    from += written;
    bytes -= written;
  }
}

void WholeFile::finish() {
  // What a file system could not keep shows here, or when it is closed.
  bool isDone = fsync(fd) == 0;
  int why = errno;
  isDone = close(std::exchange(fd, -1)) == 0 && isDone;
  if (!isDone)
    fail(why);
}

void WholeFile::keep() {
  if (rename(temporary.c_str(), path.c_str()) != 0)
    fail(errno);
  temporary.clear();
  syncDirectory(directoryOf(path));
}

void writeWhole(const std::string &path, const std::string &bytes) {
  WholeFile file(path);
  file.append(bytes.data(), int64_t(bytes.size()));
  file.finish();
  file.keep();
}

} // namespace p3d
