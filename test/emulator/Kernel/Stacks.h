// Stacks of fibres: equal slots of reserved memory, each with a page below it that faults on overflow.
#pragma once
#include <cstddef>
#include <vector>

namespace p3d::emulator {

class Stacks {
public:
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks &) = delete;
  /// Makes sure that there are `count`.
  void reserve(size_t count);
  /// The top of stack `index`. Tops are spread over cache sets: fibres touch the first bytes of their stacks in turn.
  char *top(size_t index) const;
  size_t bytes(size_t index) const;
  bool contains(const void *address) const;

private:
  std::vector<char *> chunks; // of `perChunk` stacks
};

} // namespace p3d::emulator
