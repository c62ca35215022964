#include "runtime/tools/p3d-run/Verify.h"
#include "runtime/DType.h"
#include "runtime/Data/Batch.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Parameters.h"
#include "runtime/Train/Random.h"
#include "runtime/Train/Values.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace p3d {
namespace {

std::string makeDirectory() {
  const char *place = std::getenv("TMPDIR");
  std::string path =
      fmt::format("{}/p3d-verify-XXXXXX", place && *place ? place : "/tmp");
  if (!mkdtemp(path.data()))
    userError("{}: cannot be made: {}; --verify keeps its files in TMPDIR, or "
              "in /tmp",
              path, std::strerror(errno));
  return path;
}

/// p3dc-verify stands beside p3d-run.
std::string judgePath() {
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  return (self.parent_path() / "p3dc-verify").string();
}

/// A program that reads all inputs of `build` whole: one replica, storage
/// without gaps.
Program wholeBatch(const Build &build, int64_t &bytes) {
  Program whole = build.any();
  whole.mesh = Mesh{};
  whole.params.clear();
  std::map<std::string, Input> inputs;
  std::map<std::string, Param> keys;
  for (const Program *program : build.distinctPrograms()) {
    for (const Input &input : program->inputs)
      inputs[input.name] = input;
    for (const Param &param : program->params)
      if (param.role == Role::Key)
        keys[param.name] = param;
    whole.globalBatch = std::max(whole.globalBatch, program->globalBatch);
  }
  whole.inputs.clear();
  bytes = 0;
  for (auto &[name, input] : inputs) {
    input.offset = bytes;
    bytes += localLayout(input, whole.mesh, {}).storageCount() *
             info(input.dtype).bytes;
    whole.inputs.push_back(input);
  }
  for (auto &[name, key] : keys) {
    key.offset = bytes;
    bytes += int64_t(sizeof(uint32_t[2]));
    whole.params.push_back(key);
  }
  return whole;
}

int runCommand(const std::vector<std::string> &command) {
  std::vector<char *> arguments;
  for (const std::string &word : command)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid;
  if (int failed = posix_spawn(&pid, arguments[0], nullptr, nullptr,
                               arguments.data(), environ))
    userError("{}: cannot be started: {}; it belongs beside p3d-run",
              command[0], std::strerror(failed));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

Verification::Verification(const Build &build, RunOptions &options)
    : build(build), options(options) {
  std::string reference = build.directory + "/verify/step.mlir";
  if (access(reference.c_str(), R_OK) != 0)
    userError("{}: {}; --verify needs a compile that began with the model",
              reference, std::strerror(errno));
  directory = makeDirectory();
  std::vector<const Program *> programs = build.distinctPrograms();
  parameters = makeFile("parameters", wholeTensors(programs, {&parameterTensors}));
  gradients = makeFile("gradients", wholeTensors(programs, {&gradientTensors}));
  values = makeFile("values", valueTensors(programs));
  writeInputs();
  options.steps = 1;
  options.repeatsOverflows = true;
  // The parameters of the step are written after it.
  options.learningRate = options.minLearningRate = 0;
  options.exportFd = parameters->fd();
  options.gradientsFd = gradients->fd();
  options.valuesFd = values ? values->fd() : -1;
}

Verification::~Verification() {
  std::error_code ignored;
  parameters.reset(), gradients.reset(), values.reset(), inputs.reset();
  if (!keep)
    std::filesystem::remove_all(directory, ignored);
}

std::unique_ptr<OutputFile>
Verification::makeFile(const char *name,
                       const std::vector<TensorSpec> &tensors) {
  if (tensors.empty())
    return nullptr;
  return std::make_unique<OutputFile>(
      fmt::format("{}/{}.safetensors", directory, name), tensors);
}

void Verification::writeInputs() {
  int64_t bytes = 0;
  Program whole = wholeBatch(build, bytes);
  std::vector<char> storage(size_t(bytes), 0);
  std::unique_ptr<BatchSource> batches = openBatchSource(options.data, options.dataOptions);
  std::vector<TensorSpec> specs;
  std::map<std::string, const char *> sources;
  for (const Input &input : whole.inputs) {
    batches->fill(input, whole, {}, 1, storage.data() + input.offset);
    specs.push_back({input.name, input.dtype, input.globalShape});
    sources[input.name] = storage.data() + input.offset;
  }
  for (const Param &key : whole.params) {
    if (!batches->fillKey(key, storage.data() + key.offset)) {
      std::array<uint32_t, 2> derived = deriveKey(options.seed, key.name, 1);
      std::memcpy(storage.data() + key.offset, derived.data(), sizeof(derived));
    }
    specs.push_back({key.name, key.dtype, key.globalShape});
    sources[key.name] = storage.data() + key.offset;
  }
  inputs = makeFile("inputs", specs);
  if (!inputs)
    return;
  SafetensorsFile file(MappedFile(inputs->fd(), "--verify"));
  for (const auto &[name, view] : file.tensors())
    std::memcpy(view.data, sources.at(name), size_t(view.bytes));
}

std::vector<int> Verification::fds() const {
  std::vector<int> all = {parameters->fd(), gradients->fd()};
  if (values)
    all.push_back(values->fd());
  return all;
}

std::vector<std::string>
Verification::judgeCommand(const StepReport &step) const {
  std::vector<std::string> command = {
      judgePath(), build.directory,
      fmt::format("--gradients={}/gradients.safetensors", directory),
      fmt::format("--inputs={}/parameters.safetensors", directory)};
  if (inputs)
    command.back() += fmt::format(",{}/inputs.safetensors", directory);
  if (values)
    command.push_back(fmt::format("--values={}/values.safetensors", directory));
  for (const auto &[name, value] : step.results)
    command.push_back(fmt::format("--scalar={}={:.17g}", name, value));
  return command;
}

void Verification::judge(const StepReport &step) {
  for (auto *file : {&parameters, &gradients, &values, &inputs})
    if (*file)
      (*file)->commit();
  fmt::print("comparing with the double-precision interpretation of {}\n",
             build.any().model);
  std::fflush(stdout);
  std::vector<std::string> command = judgeCommand(step);
  int code = runCommand(command);
  if (code == 0) {
    fmt::print("verified: {} ranks compute what the model says\n",
               build.worldSize());
    return;
  }
  keep = true;
  std::string text;
  for (const std::string &word : command)
    text += (text.empty() ? "" : " ") + word;
  if (code == int(ExitCode::UserError))
    userError("the model could not be interpreted: {}", text);
  internalError("the programs do not compute the model; the files of the "
                "comparison are kept: {}",
                text);
}

} // namespace p3d
