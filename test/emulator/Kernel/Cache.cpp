#include "test/emulator/Kernel/Cache.h"
#include "test/emulator/Kernel/Executor.h"
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace p3d::emulator {

static bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

static void makeDirectories(const std::string &path) {
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST)
      throw KernelError(fmt::format("cannot make the directory {}: {}", path, strerror(errno)));
  }
}

static std::string cacheDirectory() {
  const char *own = getenv("P3D_EMULATOR_CACHE"), *base = getenv("XDG_CACHE_HOME");
  std::string path = own && *own     ? own
                     : base && *base ? std::string(base) + "/p3d-emulator"
                                     : fmt::format("/tmp/p3d-emulator-{}", getuid());
  makeDirectories(path);
  return path;
}

/// The compiler lies beside the library (or program) that this code is in; for a test program, where the build put it.
static std::string compilerPath() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&compilerPath), &info) && info.dli_fname) {
    std::string beside = info.dli_fname;
    size_t slash = beside.rfind('/');
    beside = (slash == std::string::npos ? "." : beside.substr(0, slash)) + "/p3d-emulator-compile";
    if (exists(beside))
      return beside;
  }
  return P3D_EMULATOR_COMPILER;
}

static uint64_t hash(const void *data, size_t bytes, uint64_t seed) {
  uint64_t value = seed;
  auto *at = static_cast<const unsigned char *>(data);
  for (size_t i = 0; i < bytes; ++i)
    value = (value ^ at[i]) * 0x100000001b3u;
  return value ^ value >> 29;
}

/// Names the content, the compiler's build and the processor.
static std::string cacheKey(const void *bitcode, size_t bytes, const std::string &compiler) {
  std::string context = compiler;
  struct stat status;
  for (const char *file : {"", "/../p3d-emulator-device.bc"})
    if (stat((file[0] ? compiler.substr(0, compiler.rfind('/')) + (file + 3) : compiler).c_str(), &status) == 0)
      context += fmt::format(":{}:{}.{}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  std::ifstream processor("/proc/cpuinfo");
  for (std::string line; std::getline(processor, line) && context.find("flags") == std::string::npos;)
    if (line.rfind("model name", 0) == 0 || line.rfind("flags", 0) == 0)
      context += line;
  uint64_t seed = hash(context.data(), context.size(), 0xcbf29ce484222325u);
  return fmt::format("{:016x}{:016x}", hash(bitcode, bytes, seed), hash(bitcode, bytes, ~seed * 0x9e3779b97f4a7c15u));
}

static void writeFile(const std::string &path, const void *data, size_t bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(static_cast<const char *>(data), bytes);
  stream.close();
  if (!stream)
    throw KernelError("cannot write " + path);
}

static std::string readFile(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

static void runCompiler(const std::string &compiler, const std::string &from, const std::string &to) {
  std::string log = to + ".log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  char *arguments[] = {const_cast<char *>(compiler.c_str()), const_cast<char *>(from.c_str()),
                       const_cast<char *>(to.c_str()), nullptr};
  pid_t child;
  int error = posix_spawn(&child, compiler.c_str(), &actions, nullptr, arguments, environ), status = 0;
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    throw KernelError(fmt::format("cannot start {}: {}", compiler, strerror(error)));
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  std::string text = readFile(log);
  unlink(log.c_str());
  if (status != 0)
    throw KernelError(text.empty() ? fmt::format("{} failed with status {:#x}", compiler, status) : text);
}

namespace {
/// Held by the process that compiles; the kernel frees it when the process dies.
class FileLock {
public:
  explicit FileLock(const std::string &path) : file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    while (file >= 0 && flock(file, LOCK_EX) != 0 && errno == EINTR)
      ;
  }
  ~FileLock() { close(file); }

private:
  int file;
};
} // namespace

std::string compiledModule(const void *bitcode, size_t bytes) {
  std::string compiler = compilerPath(), stem = cacheDirectory() + "/" + cacheKey(bitcode, bytes, compiler);
  std::string object = stem + ".so";
  if (exists(object))
    return object;
  FileLock lock(stem + ".lock");
  if (exists(object))
    return object;
  writeFile(stem + ".bc", bitcode, bytes);
  runCompiler(compiler, stem + ".bc", stem + ".new");
  if (rename((stem + ".new").c_str(), object.c_str()) != 0)
    throw KernelError(fmt::format("cannot make {}: {}", object, strerror(errno)));
  unlink((stem + ".bc").c_str());
  return object;
}

} // namespace p3d::emulator
