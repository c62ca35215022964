// The one exception type of the runtime and the exit code that it stands for.
// Exceptions stay inside the runtime: the services and main() turn them into a
// report and an exit code.
#pragma once
#include <fmt/format.h>
#include <stdexcept>
#include <string>

namespace p3d {

/// Exit codes of every tool and rank.
enum class ExitCode : int {
  Success = 0,
  UserError = 1,     ///< the user's input, machine or plan is at fault
  InternalError = 2, ///< a bug of ours
  RankFailure = 3,   ///< a rank died, hung or was stopped
};

class Error : public std::runtime_error {
public:
  Error(ExitCode code, const std::string &text)
      : std::runtime_error(text), exitCode(code) {}
  ExitCode code() const { return exitCode; }

private:
  ExitCode exitCode;
};

/// Throws an Error that the user can mend; the text says how.
template <typename... Args>
[[noreturn]] void userError(fmt::format_string<Args...> format,
                            Args &&...args) {
  throw Error(ExitCode::UserError,
              fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an Error that only a bug of p3dc can cause.
template <typename... Args>
[[noreturn]] void internalError(fmt::format_string<Args...> format,
                                Args &&...args) {
  throw Error(ExitCode::InternalError,
              fmt::format(format, std::forward<Args>(args)...));
}

} // namespace p3d
