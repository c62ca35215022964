// Makes and maps the control region.
#include "runtime/Comm/SharedMemory/Control.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace p3d {

static constexpr uint64_t controlMagic = 0x31306c7274643370;

static size_t headerBytes(int worldSize) {
  size_t bytes = sizeof(ControlHeader) + sizeof(int32_t) * size_t(worldSize);
  return (bytes + 4095) / 4096 * 4096;
}

static size_t regionBytes(int worldSize) {
  return headerBytes(worldSize) + sizeof(RankArea) * size_t(worldSize);
}

static void *mapRegion(int fd, size_t bytes) {
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED)
    userError("cannot map the control region of {} bytes: {}", bytes,
              std::strerror(errno));
  return base;
}

Control Control::create(int worldSize) {
  int fd = memfd_create("p3d-control", MFD_CLOEXEC);
  size_t bytes = regionBytes(worldSize);
  if (fd < 0 || ftruncate(fd, off_t(bytes)) != 0)
    userError("cannot make the control region: {}", std::strerror(errno));
  void *base = mapRegion(fd, bytes);
  auto *header = static_cast<ControlHeader *>(base);
  header->magic = controlMagic;
  header->bytes = bytes;
  header->worldSize = worldSize;
  return Control(fd, base, bytes);
}

Control Control::open(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0 || size_t(status.st_size) < regionBytes(1))
    internalError("file descriptor {} is not a control region", fd);
  size_t bytes = size_t(status.st_size);
  void *base = mapRegion(fd, bytes);
  auto *header = static_cast<ControlHeader *>(base);
  if (header->magic != controlMagic || header->bytes != bytes ||
      bytes != regionBytes(header->worldSize))
    internalError("the control region is not that of this version of p3d-run; "
                  "compile again");
  return Control(fd, base, bytes);
}

Control::Control(int fd, void *base, size_t bytes)
    : fileDescriptor(fd), bytes(bytes),
      head(static_cast<ControlHeader *>(base)),
      areas(reinterpret_cast<RankArea *>(static_cast<char *>(base) +
                                         headerBytes(head->worldSize))) {}

Control::Control(Control &&other) noexcept
    : fileDescriptor(other.fileDescriptor), bytes(other.bytes),
      head(other.head), areas(other.areas) {
  other.fileDescriptor = -1;
}

Control::~Control() {
  if (fileDescriptor < 0)
    return;
  munmap(head, bytes);
  close(fileDescriptor);
}

UniqueId &Control::uniqueId(int first, uint64_t key) const {
  for (UniqueId &entry : rank(first).uniqueIds) {
    uint64_t found = 0;
    if (entry.key.compare_exchange_strong(found, key) || found == key)
      return entry;
  }
  internalError("more than {} communicators on one rank", maxCommunicators);
}

void Control::reportFailure(int rank, ExitCode code, const std::string &text,
                            const LateWait &late) const {
  uint32_t none = 0;
  if (!head->failed.compare_exchange_strong(none, 1))
    return;
  head->failedRank = rank;
  head->failureCode = int(code);
  head->late = late;
  setText(head->failure, text);
  head->failed.store(2, std::memory_order_release);
}

void Control::wakeLauncher() const {
  uint64_t one = 1;
  if (write(head->eventFd, &one, sizeof(one)) != sizeof(one))
    internalError("cannot signal p3d-run");
}

void copyText(char *target, size_t size, const std::string &text) {
  size_t length = std::min(text.size(), size - 1);
  std::memcpy(target, text.data(), length);
  target[length] = 0;
}

} // namespace p3d
