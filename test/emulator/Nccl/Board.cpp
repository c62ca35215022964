#include "test/emulator/Nccl/Board.h"
#include "test/emulator/Driver/Fault.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace p3d::emulator {

struct Board::Header {
  uint32_t isReady, ranks;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};

static size_t align(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }
static size_t slotsAt() { return 4096; }
static size_t channelsAt(size_t n) { return slotsAt() + align(n * sizeof(RankSlot)); }
static size_t stagingAt(size_t n) { return channelsAt(n) + align(n * n * sizeof(Channel)); }
static size_t piecesAt(size_t n) { return stagingAt(n) + 2 * n * collectiveChunk; }

size_t Board::bytes() const { return piecesAt(count) + size_t(count) * count * transferChunk; }

Board::Board(const std::string &name, int ranks, int rank) : name("/" + name), count(ranks) {
  int file = shm_open(this->name.c_str(), O_RDWR | O_CREAT, 0600);
  // The lock of the file keeps others out while the first comes.
  if (file < 0 || flock(file, LOCK_EX) != 0 || ftruncate(file, bytes()) != 0)
    fault(fmt::format("cannot make the shared memory {}: {}", this->name, strerror(errno)));
  void *memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    fault(fmt::format("cannot map the shared memory {}: {}", this->name, strerror(errno)));
  header = static_cast<Header *>(memory);
  if (!header->isReady) {
    pthread_mutexattr_t mutexAttributes;
    pthread_mutexattr_init(&mutexAttributes);
    pthread_mutexattr_setpshared(&mutexAttributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&mutexAttributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&header->mutex, &mutexAttributes);
    pthread_condattr_t conditionAttributes;
    pthread_condattr_init(&conditionAttributes);
    pthread_condattr_setpshared(&conditionAttributes, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setclock(&conditionAttributes, CLOCK_MONOTONIC);
    pthread_cond_init(&header->changed, &conditionAttributes);
    header->ranks = ranks;
    header->isReady = 1;
  }
  flock(file, LOCK_UN); // closing does not free it: the mapping holds the file
  close(file);
}

Board::~Board() { munmap(header, bytes()); }

int Board::ranks() const { return header->ranks; }

template <typename T> static T *at(void *base, size_t offset) {
  return reinterpret_cast<T *>(static_cast<char *>(base) + offset);
}

RankSlot &Board::slot(int rank) const { return at<RankSlot>(header, slotsAt())[rank]; }
Channel &Board::channel(int from, int to) const { return at<Channel>(header, channelsAt(count))[from * count + to]; }
char *Board::staging(int rank, int set) const {
  return at<char>(header, stagingAt(count)) + (size_t(set) * count + rank) * collectiveChunk;
}
char *Board::piece(int from, int to) const {
  return at<char>(header, piecesAt(count)) + (size_t(from) * count + to) * transferChunk;
}

/// A rank that died with the lock leaves plain values that are checked anyway.
static void recover(pthread_mutex_t *mutex, int result) {
  if (result == EOWNERDEAD)
    pthread_mutex_consistent(mutex);
}

void Board::lock() { recover(&header->mutex, pthread_mutex_lock(&header->mutex)); }
void Board::unlock() { pthread_mutex_unlock(&header->mutex); }
void Board::notify() { pthread_cond_broadcast(&header->changed); }

bool Board::wait(const std::function<bool()> &isDone, const std::function<bool()> &isOver) {
  while (!isDone()) {
    if (isOver())
      return false;
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 200'000'000;
    if (until.tv_nsec >= 1'000'000'000)
      until.tv_nsec -= 1'000'000'000, ++until.tv_sec;
    recover(&header->mutex, pthread_cond_timedwait(&header->changed, &header->mutex, &until));
  }
  return true;
}

void Board::unlinkName() { shm_unlink(name.c_str()); }

} // namespace p3d::emulator
