#include "runtime/tools/FileArguments.h"
#include <algorithm>
#include <cstring>

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
