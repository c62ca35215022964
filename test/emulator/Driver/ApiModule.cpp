// Modules, functions, launches.
#include "test/emulator/Driver/Bitcode.h"
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Objects.h"
#include <cstring>
#include <fmt/format.h>

using namespace p3d::emulator;

static constexpr size_t defaultSharedBytes = 48 << 10, largestSharedBytes = 163 << 10;

namespace {

/// The accesses of one running kernel, in one thread.
class KernelAccesses : public AccessChecker {
public:
  explicit KernelAccesses(const Running &running) : running(running) {}

  const char *check(const void *address, size_t bytes, P3dAccessKind kind) override {
    if (!isInKnown(static_cast<const char *>(address), bytes)) {
      if (!machine().memory.covers(address) && machine().ownedByModule(address))
        return nullptr;
      problem = machine().memory.complaint(address, bytes);
      if (!problem.empty())
        return problem.c_str();
      known[next++ % knownCount] = machine().memory.find(address);
    }
    Shadow::Conflict conflict = machine().shadow.access(running.id, *running.clock, address, bytes, kind != P3dRead);
    if (!conflict.other)
      return nullptr;
    problem = machine().describeRace(running, conflict, kind != P3dRead);
    return problem.c_str();
  }

private:
  bool isInKnown(const char *at, size_t bytes) const {
    for (const Allocation &allocation : known)
      if (at >= allocation.begin && at + bytes <= allocation.end)
        return true;
    return false;
  }

  static constexpr size_t knownCount = 8;
  const Running &running;
  Allocation known[knownCount]; ///< met lately
  size_t next = 0;
  std::string problem;
};

} // namespace

static CUresult loadImage(void **module, const void *image) {
  return driverCall([&](Machine &machine) {
    size_t bytes = bitcodeBytes(image);
    if (!bytes) {
      fmt::print(stderr, "emulator: a module image is not LLVM bitcode\n");
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    std::shared_ptr<EmulatedModule> code;
    try {
      code = EmulatedModule::load(image, bytes);
    } catch (const KernelError &error) {
      fmt::print(stderr, "{}", error.what());
      return CUDA_ERROR_INVALID_IMAGE;
    }
    machine.addModule(code);
    Module *loaded = objects().modules.create();
    loaded->code = code;
    *module = loaded;
    return CUDA_SUCCESS;
  });
}

static CUresult unload(void *handle) {
  return driverCall([&](Machine &machine) {
    if (!objects().modules.knows(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    auto *module = static_cast<Module *>(handle);
    for (auto &[name, function] : module->functions)
      objects().functions.erase(function.get());
    machine.removeModule(module->code.get());
    objects().modules.destroy(module);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image) {
  return loadImage(reinterpret_cast<void **>(module), image);
}
CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int, CUjit_option *, void **) {
  return loadImage(reinterpret_cast<void **>(module), image);
}
CUresult CUDAAPI cuModuleUnload(CUmodule module) { return unload(module); }
CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *, void **, unsigned int,
                                   CUlibraryOption *, void **, unsigned int) {
  return loadImage(reinterpret_cast<void **>(library), code);
}
CUresult CUDAAPI cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  *module = reinterpret_cast<CUmodule>(library);
  return objects().modules.knows(library) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult CUDAAPI cuLibraryUnload(CUlibrary library) { return unload(library); }

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
  return driverCall([&](Machine &) {
    if (!objects().modules.knows(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    auto *module = reinterpret_cast<Module *>(handle);
    const P3dKernel *kernel = module->code->find(name);
    if (!kernel)
      return CUDA_ERROR_NOT_FOUND;
    auto &known = module->functions[name];
    if (!known)
      known.reset(new Function{module, kernel});
    objects().functions.insert(known.get());
    *function = reinterpret_cast<CUfunction>(known.get());
    return CUDA_SUCCESS;
  });
}

static Function *functionOf(CUfunction handle) {
  auto *function = reinterpret_cast<Function *>(handle);
  return objects().functions.count(function) ? function : nullptr;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return driverCall([&](Machine &) {
    Function *function = functionOf(handle);
    if (!function)
      return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
      return CUDA_SUCCESS;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        value + function->kernel->staticSharedBytes > largestSharedBytes)
      return CUDA_ERROR_INVALID_VALUE;
    function->dynamicSharedLimit = value;
    return CUDA_SUCCESS;
  });
}

static size_t dynamicLimit(const Function &function) {
  size_t fixed = function.kernel->staticSharedBytes;
  return std::max(function.dynamicSharedLimit, fixed < defaultSharedBytes ? defaultSharedBytes - fixed : 0);
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
  return driverCall([&](Machine &) {
    Function *function = functionOf(handle);
    if (!function)
      return CUDA_ERROR_INVALID_HANDLE;
    switch (int(attribute)) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = function->kernel->maxThreads ? function->kernel->maxThreads : 1024;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = function->kernel->staticSharedBytes;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = dynamicLimit(*function);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: // not known here: what leaves full occupancy
      *value = 32;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *value = 0;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
  });
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                             size_t dynamic) {
  return driverCall([&](Machine &) {
    Function *function = functionOf(handle);
    if (!function || threads < 1)
      return function ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    size_t shared = function->kernel->staticSharedBytes + dynamic + 1024; // the system's share of each block
    *blocks = threads > 1024 || dynamic > dynamicLimit(*function)
                  ? 0
                  : std::min<size_t>({32, 2048u / (unsigned(threads + 31) / 32 * 32), (164u << 10) / shared});
    return CUDA_SUCCESS;
  });
}

/// The arguments' values, each at an offset that fits any type.
static std::shared_ptr<std::vector<uint64_t>> copyArguments(const P3dKernel &kernel, void **values,
                                                            std::vector<void *> &pointers) {
  size_t words = 0;
  for (uint32_t i = 0; i < kernel.arguments; ++i)
    words += (kernel.argumentBytes[i] + 15) / 16 * 2;
  auto storage = std::make_shared<std::vector<uint64_t>>(words + 2);
  char *at = reinterpret_cast<char *>(storage->data());
  at += -reinterpret_cast<uintptr_t>(at) & 15;
  for (uint32_t i = 0; i < kernel.arguments; ++i) {
    memcpy(at, values[i], kernel.argumentBytes[i]);
    pointers.push_back(at);
    at += (kernel.argumentBytes[i] + 15) / 16 * 16;
  }
  return storage;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction handle, unsigned int gridX, unsigned int gridY, unsigned int gridZ,
                                unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedBytes,
                                CUstream stream, void **values, void **extra) {
  return driverCall([&](Machine &machine) {
    Function *function = functionOf(handle);
    if (!function)
      return CUDA_ERROR_INVALID_HANDLE;
    const P3dKernel *kernel = function->kernel;
    Dim3 grid{gridX, gridY, gridZ}, block{blockX, blockY, blockZ};
    if (extra || (kernel->arguments && !values) || !grid.count() || !block.count() || block.count() > 1024 ||
        gridY > 65535 || gridZ > 65535 || blockZ > 64 || sharedBytes > dynamicLimit(*function))
      return CUDA_ERROR_INVALID_VALUE;
    if (kernel->maxThreads && block.count() > kernel->maxThreads)
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<void *> pointers;
    auto storage = copyArguments(*kernel, values, pointers);
    auto code = function->module->code;
    size_t shared = sharedBytes;
    auto run = [=, pointers = std::move(pointers)](const Running &running) mutable {
      KernelAccesses accesses(running);
      (void)storage, (void)code; // kept until it has run
      running.executor->run({kernel, grid, block, shared, pointers.data(), &accesses});
    };
    return submit(machine, stream, {"kernel", kernel->name, 0, {}, {}, {}, std::move(run)});
  });
}
