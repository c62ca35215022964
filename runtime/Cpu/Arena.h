// The arenas of the ranks: memfds made by the launcher, inherited by every
// rank, mapped when first needed. They have no name, so nothing can be left
// behind. In huge pages where the system gives them: always to a rank that
// shares its memory with nobody, to others if it has them for shared memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace p3d {

/// A new memfd of `bytes` for one rank's arena, zero.
int createArena(int64_t bytes);

/// This process's mappings of its own and its peers' arenas.
class Arenas {
public:
  /// With `isAlone` no other process maps the arena of `rank`, and it is
  /// memory of this process.
  Arenas(int rank, std::vector<int> fds, bool isAlone = false);
  ~Arenas();
  Arenas(const Arenas &) = delete;

  /// Base of the arena of `rank`, mapped at the first call.
  char *base(int rank);
  int64_t bytes(int rank);
  char *own() { return base(self); }
  /// Of the own arena: bytes on pages that anybody has touched.
  int64_t touchedBytes();
  /// Offset in the own arena of [data, data + bytes); an internal error that
  /// names `what` if it is not inside.
  int64_t offsetOf(const void *data, int64_t bytes, const char *what);

private:
  struct Mapping {
    char *base = nullptr;
    int64_t bytes = 0;
    void *start = nullptr; ///< of what was mapped, and its size
    std::size_t size = 0;
  };
  Mapping &map(int rank);
  int self;
  bool isAlone;
  int64_t mostResident = 0; ///< bytes of an arena that is not shared
  std::vector<int> fds;
  std::vector<Mapping> mappings;
};

} // namespace p3d
