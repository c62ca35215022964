// Write, sync, rename.
#include "runtime/tools/p3d-run/OutputFile.h"
#include "runtime/Data/WholeFile.h"
#include "runtime/Error.h"
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace p3d {

/// Removes what runs left that were killed: files that nobody has locked.
static void removeAbandoned(const std::string &path) {
  std::string start = path.substr(path.rfind('/') + 1) + ".", end = ".tmp";
  std::error_code ignored;
  for (const auto &entry :
       std::filesystem::directory_iterator(directoryOf(path), ignored)) {
    std::string name = entry.path().filename();
    if (name.size() <= start.size() + end.size() ||
        name.compare(0, start.size(), start) != 0 ||
        name.compare(name.size() - end.size(), end.size(), end) != 0 ||
        name.find_first_not_of("0123456789", start.size()) !=
            name.size() - end.size())
      continue;
    int fd = open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
      unlink(entry.path().c_str());
    if (fd >= 0)
      close(fd);
  }
}

OutputFile::OutputFile(const std::string &path,
                       const std::vector<TensorSpec> &tensors)
    : path(path), temporary(fmt::format("{}.{}.tmp", path, getpid())) {
  if (tensors.empty())
    userError("{}: the program has no tensor to write", path);
  // The rename would replace a device, /dev/null say, for everybody.
  struct stat present;
  if (stat(path.c_str(), &present) == 0 && !S_ISREG(present.st_mode))
    userError("{}: is no regular file; name one, or a new one", path);
  removeAbandoned(path);
  fileDescriptor =
      open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fileDescriptor < 0)
    userError("{}: cannot be written: {}", path, std::strerror(errno));
  // As long as somebody has the file open, ranks included.
  flock(fileDescriptor, LOCK_EX);
  try {
    int64_t bytes = 0;
    std::string header = safetensorsHeader(tensors, bytes);
    reserve(bytes);
    if (pwrite(fileDescriptor, header.data(), header.size(), 0) !=
        ssize_t(header.size()))
      userError("{}: cannot be written: {}", path, std::strerror(errno));
  } catch (...) {
    // The destructor of an object that was not made does not run.
    close(fileDescriptor);
    unlink(temporary.c_str());
    throw;
  }
}

void OutputFile::reserve(int64_t bytes) {
  // It reports by its value, not by errno; it writes zeros where the file
  // system cannot reserve.
  int failed = posix_fallocate(fileDescriptor, 0, off_t(bytes));
  if (failed != 0)
    userError("{}: cannot reserve {} bytes: {}", path, bytes,
              std::strerror(failed));
}

std::string OutputFile::temporaryPath() const {
  char resolved[PATH_MAX];
  // unreachable from input: the file is there
  if (!realpath(temporary.c_str(), resolved))
    userError("{}: {}", temporary, std::strerror(errno));
  return resolved;
}

OutputFile::~OutputFile() {
  close(fileDescriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

void OutputFile::commit() {
  if (fsync(fileDescriptor) != 0 ||
      rename(temporary.c_str(), path.c_str()) != 0)
    userError("{}: cannot be written: {}", path, std::strerror(errno));
  temporary.clear();
  syncDirectory(directoryOf(path));
}

} // namespace p3d
