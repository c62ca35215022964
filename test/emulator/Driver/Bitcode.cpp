// LLVM Bitcode File Format, "Bitstream Format": after the magic number stand blocks, each with an abbreviation id of 2
// bits (1: a block), its kind in vbr8, the width of its own ids in vbr4, filling to 32 bits, and its length in words.
#include "test/emulator/Driver/Bitcode.h"
#include <cstdint>
#include <cstring>

namespace p3d::emulator {

static uint32_t word(const char *at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return value;
}

/// Identification, module, string table, symbol table.
static bool isTopLevelBlock(unsigned kind) { return kind == 13 || kind == 8 || kind == 23 || kind == 25; }

size_t bitcodeBytes(const void *image) {
  auto *begin = static_cast<const char *>(image);
  if (word(begin) == 0x0B17C0DE) // the wrapper: magic, version, offset, size
    return word(begin + 8) + word(begin + 12);
  if (memcmp(begin, "BC\xC0\xDE", 4) != 0)
    return 0;
  const char *at = begin + 4;
  for (;;) {
    // All kinds at this level fit the 7 bits of a vbr8's first piece.
    uint32_t head = word(at);
    if ((head & 3) != 1 || (head >> 2 & 0x80) || !isTopLevelBlock(head >> 2 & 0x7f))
      return at - begin;
    at += 8 + 4 * size_t(word(at + 4));
  }
}

} // namespace p3d::emulator
