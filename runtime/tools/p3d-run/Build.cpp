// Reads a build directory. Programs come from the executables themselves
// (`stage<k> --describe`), so what runs is what was described.
#include "runtime/tools/p3d-run/Build.h"
#include "runtime/Data/MappedFile.h"
#include "runtime/Error.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace p3d {

static int rankCount(const std::string &directory) {
  std::string path = directory + "/manifest.json";
  if (access(path.c_str(), F_OK) != 0)
    userError("{}: {}; p3d-run takes the directory that p3dc MODEL.mlir -o DIR "
              "made",
              path, std::strerror(errno));
  MappedFile file(path);
  try {
    nlohmann::json manifest =
        nlohmann::json::parse(file.data(), file.data() + file.size());
    size_t count = manifest.at("ranks").size();
    if (count == 0)
      userError("{}: has no ranks", path);
    return int(count);
  } catch (const nlohmann::json::exception &error) {
    userError("{}: is damaged: {}; compile again", path, error.what());
  }
}

static std::string readAll(int fd) {
  std::string text;
  char block[65536];
  ssize_t got;
  while ((got = read(fd, block, sizeof(block))) > 0)
    text.append(block, size_t(got));
  return text;
}

/// What `executable --describe` prints.
static std::string describe(const std::string &executable) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    userError("cannot make a pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  char argument[] = "--describe";
  char *arguments[] = {const_cast<char *>(executable.c_str()), argument,
                       nullptr};
  pid_t pid;
  int failed = posix_spawn(&pid, executable.c_str(), &actions, nullptr,
                           arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text = failed ? "" : readAll(ends[0]);
  close(ends[0]);
  if (failed)
    userError("{}: cannot be started: {}", executable, std::strerror(failed));
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0)
    userError("{}: ended with status {} when asked for its program; compile "
              "again",
              executable,
              WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  return text;
}

/// A program that does not hold together was not made by this version of p3dc,
/// or was damaged since.
static Program readProgram(const std::string &executable) {
  std::string text = describe(executable);
  try {
    return Program::parse(text);
  } catch (const Error &error) {
    userError("{}: {}; compile again", executable, error.what());
  }
}

static std::string resolve(const std::string &path) {
  char resolved[PATH_MAX];
  if (!realpath(path.c_str(), resolved))
    userError("{}: {}; compile again", path, std::strerror(errno));
  return resolved;
}

static void checkTogether(const Build &build) {
  const Program &first = build.any();
  for (int rank = 0; rank < build.worldSize(); ++rank) {
    const Program &program = *build.programs[rank];
    if (program.mesh.size() != build.worldSize())
      userError("{}/bin/rank_{}: belongs to a mesh of {} ranks, the manifest "
                "has {}; compile again",
                build.directory, rank, program.mesh.size(), build.worldSize());
    if (program.fingerprint != first.fingerprint)
      userError("{}/bin/rank_{}: comes from another compilation than rank_0; "
                "compile again",
                build.directory, rank);
    if (program.target != first.target)
      userError("{}/bin/rank_{}: is for another target than rank_0; compile "
                "again",
                build.directory, rank);
    if (program.mesh.coordinates(rank).pp != program.stage)
      userError("{}/bin/rank_{}: is the program of stage {}, expected stage "
                "{}; compile again",
                build.directory, rank, program.stage,
                program.mesh.coordinates(rank).pp);
  }
}

Build Build::open(std::string directory) {
  while (directory.size() > 1 && directory.back() == '/')
    directory.pop_back();
  Build build;
  build.directory = directory;
  int count = rankCount(directory);
  for (int rank = 0; rank < count; ++rank) {
    std::string path = fmt::format("{}/bin/rank_{}", directory, rank);
    std::unique_ptr<Program> &program = build.owned[resolve(path)];
    if (!program)
      program = std::make_unique<Program>(readProgram(path));
    build.executables.push_back(path);
    build.programs.push_back(program.get());
  }
  checkTogether(build);
  return build;
}

Optimizer Build::optimizer() const {
  for (const Program *program : programs)
    if (program->optimizer != Optimizer::None)
      return program->optimizer;
  return Optimizer::None;
}

bool Build::scalesLoss() const {
  for (const Program *program : programs)
    for (const Param &param : program->params)
      if (param.role == Role::LossScale)
        return true;
  return false;
}

int64_t Build::tokensPerStep() const {
  int64_t tokens = 0;
  for (const Program *program : programs)
    tokens = std::max(tokens, program->tokensPerStep);
  return tokens;
}

std::vector<const Program *> Build::distinctPrograms() const {
  std::vector<const Program *> distinct;
  for (const auto &[path, program] : owned)
    distinct.push_back(program.get());
  return distinct;
}

} // namespace p3d
