#include "test/emulator/Kernel/EmulatedModule.h"
#include "test/emulator/Kernel/Cache.h"
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <link.h>

namespace p3d::emulator {

std::shared_ptr<EmulatedModule> EmulatedModule::load(const void *bitcode, size_t bytes) {
  std::string path = compiledModule(bitcode, bytes);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto *table = handle ? static_cast<const P3dKernel *>(dlsym(handle, "p3dKernels")) : nullptr;
  if (!table)
    throw KernelError(fmt::format("cannot load the compiled kernels: {}", dlerror()));
  return std::shared_ptr<EmulatedModule>(new EmulatedModule(handle, table));
}

std::shared_ptr<EmulatedModule> EmulatedModule::loadFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::string bitcode{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.good() && bitcode.empty())
    throw KernelError("cannot read " + path);
  return load(bitcode.data(), bitcode.size());
}

/// The extent of the loaded image that holds `table`.
static std::pair<const char *, const char *> imageOf(const void *table) {
  struct Search {
    const char *address, *first, *last;
  } search{static_cast<const char *>(table), nullptr, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        const char *first = nullptr, *last = nullptr;
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            auto *begin = reinterpret_cast<const char *>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            first = first ? first : begin;
            last = begin + info->dlpi_phdr[i].p_memsz;
          }
        if (search.address < first || search.address >= last)
          return 0;
        search.first = first, search.last = last;
        return 1;
      },
      &search);
  return {search.first, search.last};
}

EmulatedModule::EmulatedModule(void *handle, const P3dKernel *table) : handle(handle), table(table) {
  std::tie(first, last) = imageOf(table);
}

EmulatedModule::~EmulatedModule() { dlclose(handle); }

const P3dKernel *EmulatedModule::find(const std::string &name) const {
  for (const P3dKernel *kernel = table; kernel->name; ++kernel)
    if (name == kernel->name)
      return kernel;
  return nullptr;
}

bool EmulatedModule::owns(const void *address) const { return address >= first && address < last; }

void EmulatedModule::checkArguments(const std::string &name, size_t count, const size_t *bytes) const {
  const P3dKernel *kernel = find(name);
  if (!kernel)
    return; // launch says so
  if (count != kernel->arguments)
    throw KernelError(fmt::format("kernel {} takes {} arguments, not {}", name, kernel->arguments, count));
  for (size_t i = 0; i < count; ++i)
    if (bytes[i] != kernel->argumentBytes[i])
      throw KernelError(
          fmt::format("argument {} of kernel {} has {} bytes, not {}", i, name, kernel->argumentBytes[i], bytes[i]));
}

void EmulatedModule::launch(const std::string &name, Dim3 grid, Dim3 block, size_t sharedBytes,
                            void **arguments) const {
  const P3dKernel *kernel = find(name);
  if (!kernel)
    throw KernelError("there is no kernel " + name);
  static thread_local Executor executor;
  executor.run({kernel, grid, block, sharedBytes, arguments});
}

} // namespace p3d::emulator
