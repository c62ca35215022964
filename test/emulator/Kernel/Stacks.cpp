#include "test/emulator/Kernel/Stacks.h"
#include <new>
#include <sys/mman.h>

namespace p3d::emulator {

static constexpr size_t stackBytes = 128 << 10, guardBytes = 4096, perChunk = 64, chunkBytes = stackBytes * perChunk;

Stacks::~Stacks() {
  for (char *chunk : chunks)
    munmap(chunk, chunkBytes);
}

void Stacks::reserve(size_t count) {
  while (chunks.size() * perChunk < count) {
    void *chunk = mmap(nullptr, chunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (chunk == MAP_FAILED)
      throw std::bad_alloc();
    for (size_t i = 0; i < perChunk; ++i)
      mprotect(static_cast<char *>(chunk) + i * stackBytes, guardBytes, PROT_NONE);
    chunks.push_back(static_cast<char *>(chunk));
  }
}

static size_t colour(size_t index) { return (index % 61) * 320; }

char *Stacks::top(size_t index) const {
  return chunks[index / perChunk] + (index % perChunk + 1) * stackBytes - colour(index) / 64 * 64;
}

size_t Stacks::bytes(size_t index) const { return stackBytes - guardBytes - colour(index); }

bool Stacks::contains(const void *address) const {
  for (char *chunk : chunks)
    if (size_t(static_cast<const char *>(address) - chunk) < chunkBytes)
      return true;
  return false;
}

} // namespace p3d::emulator
