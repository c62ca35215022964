// Maps arenas.
#include "runtime/Cpu/Arena.h"
#include "runtime/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace p3d {

int createArena(int64_t bytes) {
  int fd = memfd_create("p3d-arena", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, off_t(bytes)) != 0)
    userError("cannot make an arena of {} bytes: {}", bytes,
              std::strerror(errno));
  return fd;
}

Arenas::Arenas(int rank, std::vector<int> fds)
    : self(rank), fds(std::move(fds)), mappings(this->fds.size()) {}

Arenas::~Arenas() {
  for (Mapping &mapping : mappings)
    if (mapping.base)
      munmap(mapping.base, size_t(mapping.bytes));
}

Arenas::Mapping &Arenas::map(int rank) {
  Mapping &mapping = mappings[rank];
  if (mapping.base)
    return mapping;
  struct stat status;
  if (fstat(fds[rank], &status) != 0)
    internalError("the arena of rank {} was not inherited: {}", rank,
                  std::strerror(errno));
  // An empty arena still gets an address.
  size_t bytes = status.st_size > 0 ? size_t(status.st_size) : 1;
  void *base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[rank], 0);
  if (base == MAP_FAILED)
    userError("cannot map the arena of rank {} of {} bytes: {}", rank, bytes,
              std::strerror(errno));
  mapping = {static_cast<char *>(base), int64_t(bytes)};
  return mapping;
}

char *Arenas::base(int rank) { return map(rank).base; }
int64_t Arenas::bytes(int rank) { return map(rank).bytes; }

int64_t Arenas::touchedBytes() const {
  struct stat status;
  constexpr int64_t blockBytes = 512;
  if (fstat(fds[self], &status) != 0)
    return 0;
  // Of the last page the arena has a part.
  return std::min(int64_t(status.st_size), status.st_blocks * blockBytes);
}

int64_t Arenas::offsetOf(const void *data, int64_t bytes, const char *what) {
  Mapping &mapping = map(self);
  int64_t offset = static_cast<const char *>(data) - mapping.base;
  if (offset < 0 || bytes < 0 || offset > mapping.bytes - bytes)
    internalError("{} is handed {} bytes outside the arena", what, bytes);
  return offset;
}

} // namespace p3d
