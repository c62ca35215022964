// The kernels that travel in the executable, found by name.
#pragma once
#include "runtime/Cuda/Owners.h"
#include "runtime/include/p3d/runtime.h"
#include <string>
#include <unordered_map>
#include <vector>

namespace p3d {

class KernelTable {
public:
  /// Loads the images of the kind that the driver takes. A table ends at an entry without data.
  explicit KernelTable(const std::vector<const p3d_image *> &tables);

  /// Makes `sharedBytes` of dynamic shared memory allowed for the kernel.
  CUfunction find(const std::string &name, uint32_t sharedBytes = 0);

private:
  struct Kernel {
    CUfunction function;
    uint32_t sharedBytes; ///< allowed so far
  };
  std::vector<Module> modules;
  std::unordered_map<std::string, Kernel> kernels;
};

} // namespace p3d
