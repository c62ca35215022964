#include "test/kernels/Buffer.h"
#include <new>

void *p3dtest::allocateBuffer(size_t bytes) { return ::operator new(bytes); }
void p3dtest::releaseBuffer(void *memory) noexcept { ::operator delete(memory); }
