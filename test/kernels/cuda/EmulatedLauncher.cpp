// Kernels run at once, in the calling thread, on ordinary memory; of a device with few multiprocessors, so that blocks
// walk over several rows.
#include "test/emulator/Kernel/EmulatedModule.h"
#include "test/kernels/cuda/TestLauncher.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <vector>

using p3d::emulator::EmulatedModule;

namespace {

/// All modules of the build, and which has which kernel.
class Modules {
public:
  Modules() {
    for (const auto &file : std::filesystem::directory_iterator(P3D_CUDA_DIR))
      if (file.path().extension() == ".bc")
        files.push_back(file.path());
  }

  /// Loads modules until one has the kernel.
  const EmulatedModule *moduleOf(const std::string &kernel) {
    for (;;) {
      if (auto found = modules.find(kernel); found != modules.end())
        return found->second.get();
      if (files.empty())
        return nullptr;
      auto module = EmulatedModule::loadFile(files.back().string());
      files.pop_back();
      for (const P3dKernel *entry = module->kernels(); entry->name; ++entry)
        modules[entry->name] = module;
    }
  }

private:
  std::vector<std::filesystem::path> files;
  std::map<std::string, std::shared_ptr<EmulatedModule>> modules;
};

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

void checkArguments(const P3dKernel &kernel, const uint32_t *bytes, uint32_t count) {
  if (kernel.arguments != count)
    fail(std::string(kernel.name) + " takes another number of arguments");
  for (uint32_t i = 0; i < count; ++i)
    if (kernel.argumentBytes[i] != bytes[i])
      fail(std::string(kernel.name) + ": argument " + std::to_string(i) + " has " + std::to_string(bytes[i]) +
           " bytes, not " + std::to_string(kernel.argumentBytes[i]));
}

void launch(p3d_launcher *, const char *name, void *, const uint32_t grid[3], const uint32_t block[3],
            uint32_t sharedBytes, void **arguments, const uint32_t *argumentBytes, uint32_t argumentCount) {
  static Modules modules;
  const EmulatedModule *module = modules.moduleOf(name);
  if (!module)
    fail(std::string("no module has the kernel ") + name);
  checkArguments(*module->find(name), argumentBytes, argumentCount);
  module->launch(name, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, sharedBytes, arguments);
}

/// Fresh for each call, and poisoned: a kernel that reads what none has written gives NaN.
void *workspace(p3d_launcher *, void *, int64_t bytes) {
  static std::vector<double> memory;
  memory.assign(bytes / 8 + 3, 0);
  auto begin = (reinterpret_cast<uintptr_t>(memory.data()) + 15) / 16 * 16;
  std::fill_n(reinterpret_cast<unsigned char *>(begin), bytes, 0xff);
  return reinterpret_cast<void *>(begin);
}

} // namespace

p3d_launcher *p3dtest::testLauncher() {
  static p3d_launcher launcher = {launch, workspace, [](p3d_launcher *, const char *message) { fail(message); }, 2,
                                  160 * 1024};
  return &launcher;
}

void *p3dtest::testStream() { return nullptr; }
