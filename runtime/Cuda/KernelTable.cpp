#include "runtime/Cuda/KernelTable.h"

namespace p3d {

static bool hasKind(const p3d_image *table, int32_t kind) {
  for (; table->data; ++table)
    if (table->kind == kind)
      return true;
  return false;
}

KernelTable::KernelTable(const std::vector<const p3d_image *> &tables) {
  for (const p3d_image *table : tables) {
    int32_t kind = driver().acceptsBitcode ? P3D_BITCODE : hasKind(table, P3D_FATBIN) ? P3D_FATBIN : P3D_PTX;
    for (const p3d_image *image = table; image->data; ++image)
      if (image->kind == kind)
        modules.push_back(loadModule(image->data));
  }
}

CUfunction KernelTable::find(const std::string &name, uint32_t sharedBytes) {
  auto found = kernels.find(name);
  for (auto module = modules.begin(); found == kernels.end() && module != modules.end(); ++module) {
    CUfunction function;
    CUresult result = driver().cuModuleGetFunction(&function, module->get(), name.c_str());
    if (result == CUDA_SUCCESS)
      // 48 KB need no leave, but of these a kernel's static memory is a part.
      found = kernels.emplace(name, Kernel{function, 0}).first;
    else if (result != CUDA_ERROR_NOT_FOUND)
      checkDriver(result, "cuModuleGetFunction");
  }
  if (found == kernels.end())
    internalError("no image in this executable has the kernel {}", name);
  Kernel &kernel = found->second;
  if (sharedBytes > kernel.sharedBytes) {
    P3D_CU(cuFuncSetAttribute, kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(sharedBytes));
    kernel.sharedBytes = sharedBytes;
  }
  return kernel.function;
}

} // namespace p3d
