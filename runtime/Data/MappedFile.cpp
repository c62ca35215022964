// mmap with an owner.
#include "runtime/Data/MappedFile.h"
#include "runtime/Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace p3d {

MappedFile::MappedFile(const std::string &path) : label(path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    userError("{}: cannot be opened: {}", path, std::strerror(errno));
  struct stat status;
  if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
    close(fd);
    userError("{}: is not a regular file", path);
  }
  try {
    map(fd, PROT_READ, MAP_PRIVATE);
  } catch (...) {
    close(fd);
    throw;
  }
  close(fd);
}

MappedFile::MappedFile(int fd, const std::string &name) : label(name) {
  map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
}

void MappedFile::map(int fd, int protection, int flags) {
  struct stat status;
  if (fstat(fd, &status) != 0)
    userError("{}: cannot be read: {}", label, std::strerror(errno));
  bytes = status.st_size;
  if (bytes == 0)
    return;
  void *address = mmap(nullptr, size_t(bytes), protection, flags, fd, 0);
  if (address == MAP_FAILED)
    userError("{}: cannot be mapped: {}", label, std::strerror(errno));
  base = static_cast<char *>(address);
}

MappedFile::MappedFile(MappedFile &&other) noexcept {
  *this = std::move(other);
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(base, other.base);
  std::swap(bytes, other.bytes);
  std::swap(label, other.label);
  return *this;
}

MappedFile::~MappedFile() {
  if (base)
    munmap(base, size_t(bytes));
}

void releasePages(const char *data, int64_t bytes) {
  auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  uintptr_t begin = uintptr_t(data) / page * page;
  madvise(reinterpret_cast<void *>(begin),
          size_t(uintptr_t(data) + uintptr_t(bytes) - begin), MADV_DONTNEED);
}

} // namespace p3d
