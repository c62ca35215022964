#include "test/gpu/Nccl/DriverCalls.h"

namespace p3dtest {

static StandInCalls findCalls() {
  p3d::SharedLibrary library("libcuda.so.1", "it comes with the NVIDIA driver");
  StandInCalls table{};
#define P3D_FIND(name) table.name = reinterpret_cast<decltype(&::name)>(library.need(P3D_CALL_NAME(name)));
  P3D_STAND_IN_CALLS(P3D_FIND)
#undef P3D_FIND
  return table;
}

const StandInCalls &standInCalls() {
  static const StandInCalls table = findCalls();
  return table;
}

} // namespace p3dtest
