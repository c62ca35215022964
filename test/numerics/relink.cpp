// p3d-relink MEMORY.mlir DIR: for tests that change a program by hand. Takes a module of the level memory as a compile for CUDA with --dump leaves it and links
// its stages over the executables in DIR/bin, the output of that compile. The generated kernels have to be those of the compile: they are compiled once,
// to DIR/kernels.o.
#include "compiler/Registration.h"
#include "compiler/WritePrograms.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Lower/EmitKernels.h"
#include "passes/Lower/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace p3d;

namespace {
constexpr int64_t kArchitecture = 80;
/// Functions that only enqueue commands gain nothing from more.
const lower::EmitOptions kEmitOptions{"native", 0};

int complain(const Twine &text) {
  llvm::errs() << "p3d-relink: error: " << text << "\n";
  return 1;
}

LogicalResult save(Location loc, const lower::ObjectCode &code, StringRef path) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return emitError(loc) << path << ": " << error.message();
  stream.write(code.data(), code.size());
  return success();
}

/// The object of the kernels, from `path` if a call before this one left it there.
FailureOr<lower::ObjectCode> kernelsOf(ModuleOp lowered, StringRef path) {
  if (auto cached = llvm::MemoryBuffer::getFile(path))
    return lower::ObjectCode((*cached)->getBufferStart(), (*cached)->getBufferEnd());
  auto images = lower::emitKernels(lowered, {{kArchitecture}, libraryDirectory()});
  if (failed(images))
    return failure();
  auto object = lower::embedImages(lowered.getLoc(), *images, kEmitOptions);
  if (failed(object) || failed(save(lowered.getLoc(), *object, path)))
    return failure();
  return object;
}

LogicalResult link(ModuleOp lowered, StringRef directory) {
  SmallVector<lower::ObjectCode> objects(2);
  auto kernels = kernelsOf(lowered, (directory + "/kernels.o").str());
  if (failed(kernels))
    return failure();
  objects.push_back(std::move(*kernels));
  for (auto module : lowered.getOps<ModuleOp>()) {
    bool isCommon = module.getName() == "common";
    auto object = lower::emitObject(module, kEmitOptions);
    if (failed(object))
      return failure();
    objects[isCommon ? 0 : 1] = std::move(*object);
    std::string path = (directory + "/bin/" + *module.getName()).str();
    if (!isCommon && failed(lower::linkExecutable(module.getLoc(), objects, libraryDirectory(), "link-cuda.txt", path)))
      return failure();
  }
  return success();
}
} // namespace

int main(int argc, char **argv) {
  if (argc != 3)
    return complain("expected: p3d-relink MEMORY.mlir DIR");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  PassManager passes(&context);
  lower::buildCudaLowerPipeline(passes);
  return failed(passes.run(*module)) || failed(link(*module, argv[2]));
}
