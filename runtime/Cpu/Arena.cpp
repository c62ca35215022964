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

Arenas::Arenas(int rank, std::vector<int> fds, bool isAlone)
    : self(rank), isAlone(isAlone), fds(std::move(fds)),
      mappings(this->fds.size()) {}

Arenas::~Arenas() {
  for (Mapping &mapping : mappings)
    if (mapping.base)
      munmap(mapping.start, mapping.size);
}

static constexpr size_t hugePage = size_t(2) << 20;

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
  bool isOwn = isAlone && rank == self;
  // Huge pages begin at multiples of their size.
  size_t size = isOwn && bytes >= hugePage ? bytes + hugePage : bytes;
  void *start = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     isOwn ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
                     isOwn ? -1 : fds[rank], 0);
  if (start == MAP_FAILED)
    userError("cannot map the arena of rank {} of {} bytes: {}", rank, bytes,
              std::strerror(errno));
  // A wish: without it everything is the same, but slower.
  madvise(start, size, MADV_HUGEPAGE);
  auto base = reinterpret_cast<uintptr_t>(start);
  if (size > bytes)
    base = (base + hugePage - 1) / hugePage * hugePage;
  mapping = {reinterpret_cast<char *>(base), int64_t(bytes), start, size};
  return mapping;
}

char *Arenas::base(int rank) { return map(rank).base; }
int64_t Arenas::bytes(int rank) { return map(rank).bytes; }

/// Bytes of [base, base + bytes) on pages that are in memory.
static int64_t residentBytes(char *base, int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> pages(size_t((bytes + page - 1) / page));
  if (mincore(base, size_t(bytes), pages.data()) != 0)
    return 0;
  auto count = std::count_if(pages.begin(), pages.end(),
                             [](unsigned char flags) { return flags & 1; });
  return std::min(bytes, int64_t(count) * page);
}

int64_t Arenas::touchedBytes() {
  if (isAlone) {
    const Mapping &own = map(self);
    // What was touched stays so; all of it soon is.
    if (mostResident < own.bytes)
      mostResident = std::max(mostResident, residentBytes(own.base, own.bytes));
    return mostResident;
  }
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
