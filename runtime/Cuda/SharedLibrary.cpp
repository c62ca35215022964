#include "runtime/Cuda/SharedLibrary.h"
#include <dlfcn.h>

namespace p3d {

SharedLibrary::SharedLibrary(const char *file, const char *origin)
    : file(file), handle(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (!handle)
    deviceError("{} cannot be opened: {}; {}", file, dlerror(), origin);
}

void *SharedLibrary::find(const char *name) const { return dlsym(handle, name); }

void *SharedLibrary::need(const char *name) const {
  void *symbol = find(name);
  if (!symbol)
    deviceError("{} has no {}: it is too old for this program", file, name);
  return symbol;
}

} // namespace p3d
