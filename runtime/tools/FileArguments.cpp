#include "runtime/tools/FileArguments.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace p3d {

FileArguments readFileArguments(int argc, char **argv, const std::vector<std::string> &known, const std::string &usage) {
  FileArguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = std::min(argument.find('='), argument.size());
    if (argument == "-o" && i + 1 < argc)
      arguments.output = argv[++i];
    else if (argument.compare(0, 2, "--") == 0 && equals < argument.size() &&
             std::find(known.begin(), known.end(), argument.substr(2, equals - 2)) != known.end())
      arguments.flags[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
    else if (argument.compare(0, 1, "-") == 0)
      userError("unknown flag {}; usage: {}", argument, usage);
    else
      arguments.inputs.push_back(argument);
  }
  if (arguments.inputs.empty() || arguments.output.empty())
    userError("{}; usage: {}", arguments.inputs.empty() ? "no file is given" : "-o is missing", usage);
  return arguments;
}

void writeWhole(const std::string &path, const std::string &bytes) {
  std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE *file = std::fopen(temporary.c_str(), "we");
  bool isDone = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  int failed = errno;
  if (file)
    std::fclose(file);
  if (isDone && rename(temporary.c_str(), path.c_str()) == 0)
    return;
  failed = isDone ? errno : failed;
  unlink(temporary.c_str());
  userError("{}: cannot be written: {}", path, std::strerror(failed));
}

int runTool(const char *name, int argc, char **argv, const std::string &help, const std::function<int()> &body) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0)
      return std::fputs(help.c_str(), stdout) < 0;
  try {
    return body();
  } catch (const Error &error) {
    fmt::print(stderr, "{}: error: {}\n", name, error.what());
    return int(error.code());
  }
}

} // namespace p3d
