// The cache of compiled modules, shared by all processes of a user.
#pragma once
#include <cstddef>
#include <string>

namespace p3d::emulator {

/// The shared object of the module with this bitcode, compiled now if nobody has yet; of any number of processes that
/// ask at once one compiles. Throws KernelError with the compiler's message.
std::string compiledModule(const void *bitcode, size_t bytes);

} // namespace p3d::emulator
