// A library that is opened when the program runs, so that what is linked needs none of NVIDIA's.
#pragma once
#include "runtime/Error.h"

namespace p3d {

/// What a device, or a library that drives it, cannot do; the text does not say where. DeviceErrors end all ranks with
/// exit code 3; the rank and its place are put before the text where the failure is recorded.
class DeviceError : public Error {
public:
  explicit DeviceError(const std::string &text) : Error(ExitCode::RankFailure, text) {}
};

template <typename... Args> [[noreturn]] void deviceError(fmt::format_string<Args...> format, Args &&...args) {
  throw DeviceError(fmt::format(format, std::forward<Args>(args)...));
}

/// Stays open until the process ends: such libraries have threads of their own.
class SharedLibrary {
public:
  /// Opens `file`; `origin` says in an error where it comes from.
  SharedLibrary(const char *file, const char *origin);

  /// The address of `name`, which the library must have.
  void *need(const char *name) const;
  /// The same, or null.
  void *find(const char *name) const;

private:
  const char *file;
  void *handle;
};

} // namespace p3d

// For tables of calls: the name of a call after the header's macros have versioned it (cuMemAlloc: cuMemAlloc_v2).
#define P3D_CALL_NAME_OF(name) #name
#define P3D_CALL_NAME(name) P3D_CALL_NAME_OF(name)
