#include "compiler/WritePrograms.h"
#include "compiler/Reference.h"
#include "passes/Lower/EmitKernels.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <unistd.h>

using namespace mlir;
using namespace p3d;
namespace sys = llvm::sys;

namespace {
constexpr int kUserError = 1;

int complain(const Twine &text) {
  llvm::errs() << "p3dc: error: " << text << "\n";
  return kUserError;
}

int complain(const Twine &path, std::error_code error) { return complain(path + ": " + error.message()); }

LogicalResult linkStages(ModuleOp lowered, const Options &options, StringRef binDir) {
  lower::EmitOptions emitOptions, programOptions;
  emitOptions.cpu = programOptions.cpu = options.cpu;
  // Tasks are lists of calls, long and without loops: there is nothing to optimize.
  programOptions.optimization = 0;
  SmallVector<lower::ObjectCode> objects(2);
  if (options.forCuda) {
    lower::KernelOptions kernelOptions{llvm::to_vector(options.gpuArchitectures), libraryDirectory()};
    auto images = lower::emitKernels(lowered, kernelOptions);
    if (failed(images))
      return failure();
    auto object = lower::embedImages(lowered.getLoc(), *images, emitOptions);
    if (failed(object))
      return failure();
    objects.push_back(std::move(*object));
  }
  for (auto module : lowered.getOps<ModuleOp>()) {
    bool isCommon = module.getName() == "common";
    FailureOr<lower::ObjectCode> object = lower::emitObject(module, isCommon ? emitOptions : programOptions);
    if (failed(object))
      return failure();
    objects[isCommon ? 0 : 1] = std::move(*object);
    if (!isCommon && failed(lower::linkExecutable(module.getLoc(), objects, libraryDirectory(), options.forCuda ? "link-cuda.txt" : "link.txt", (binDir + "/" + *module.getName()).str())))
      return failure();
  }
  return success();
}

std::error_code writeJson(const Twine &path, llvm::json::Value value) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path.str(), error);
  if (error)
    return error;
  stream << llvm::formatv("{0:2}", value) << "\n";
  stream.close();
  error = stream.error();
  stream.clear_error();
  return error;
}

std::error_code linkRanks(const llvm::json::Object &manifest, StringRef binDir) {
  for (const llvm::json::Value &entry : *manifest.getArray("ranks")) {
    const llvm::json::Object &rank = *entry.getAsObject();
    std::string link = (binDir + "/rank_" + llvm::Twine(*rank.getInteger("rank"))).str();
    if (std::error_code error = sys::fs::create_link(rank.getString("program")->str(), link))
      return error;
  }
  // Any program launches, each rank its own.
  return sys::fs::create_link("stage0", (binDir + "/rank").str());
}

llvm::Error writeReferences(const CompiledModules &modules, const std::string &directory) {
  if (!modules.step || !modules.sharded)
    return llvm::Error::success();
  if (std::error_code error = sys::fs::create_directory(directory + "/verify"))
    return llvm::createFileError(directory + "/verify", error);
  if (llvm::Error error = writeReference(modules.step, directory + "/" + kStepFile.str()))
    return error;
  return writeReference(modules.sharded, directory + "/" + kShardedFile.str());
}

/// Puts `made` in the place of `target`.
std::error_code replaceDirectory(StringRef made, StringRef target) {
  std::string old = (target + ".old" + llvm::Twine(sys::Process::getProcessId())).str();
  bool existed = sys::fs::exists(target);
  if (existed)
    if (std::error_code error = sys::fs::rename(target, old))
      return error;
  if (std::error_code error = sys::fs::rename(made, target)) {
    if (existed)
      sys::fs::rename(old, target);
    return error;
  }
  return existed ? sys::fs::remove_directories(old) : std::error_code();
}
} // namespace

std::string p3d::libraryDirectory() {
  std::string self = sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&libraryDirectory));
  llvm::SmallString<256> path(sys::path::parent_path(sys::path::parent_path(self)));
  sys::path::append(path, "lib", "p3d");
  return path.str().str();
}

std::string p3d::checkOutput(llvm::StringRef path) {
  if (!sys::fs::exists(path))
    return {};
  if (!sys::fs::is_directory(path))
    return (path + ": is no directory, and a compile does not replace a file; name another").str();
  std::error_code error;
  bool isEmpty = sys::fs::directory_iterator(path, error) == sys::fs::directory_iterator();
  if (error)
    return (path + ": " + error.message()).str();
  if (!isEmpty && !sys::fs::exists(path + "/manifest.json"))
    return (path + ": holds files but no manifest.json, so no compile made it and none replaces it; name another directory").str();
  return {};
}

int p3d::writePrograms(const CompiledModules &modules, const ManifestInputs &inputs, const Options &options) {
  StringRef target = StringRef(options.output).rtrim('/');
  std::string directory = (target + ".part" + llvm::Twine(sys::Process::getProcessId())).str();
  auto removeDirectory = llvm::make_scope_exit([&] { sys::fs::remove_directories(directory); });
  if (std::error_code error = sys::fs::create_directories(directory + "/bin"))
    return complain(directory, error);
  if (failed(linkStages(modules.lowered, options, directory + "/bin")))
    return kUserError;
  llvm::json::Object manifest = makeManifest(modules.scheduled, inputs), plan = makePlan(modules.scheduled, inputs);
  if (std::error_code error = linkRanks(manifest, directory + "/bin"))
    return complain(directory + "/bin", error);
  if (std::error_code error = writeJson(directory + "/manifest.json", std::move(manifest)))
    return complain(directory + "/manifest.json", error);
  if (std::error_code error = writeJson(directory + "/plan.json", std::move(plan)))
    return complain(directory + "/plan.json", error);
  if (llvm::Error error = writeReferences(modules, directory))
    return complain(llvm::toString(std::move(error)));
  if (std::error_code error = replaceDirectory(directory, target))
    return complain(target, error);
  return 0;
}

int p3d::flushOutput() {
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  return error ? complain("standard output", error) : 0;
}
