// LLVM bitcode as a module image: cuModuleLoadData is given an address only, so the length has to be found in the data.
#pragma once
#include <cstddef>

namespace p3d::emulator {

/// The length of the bitcode (raw or in its wrapper) at `image`, or 0 if there is none.
size_t bitcodeBytes(const void *image);

} // namespace p3d::emulator
