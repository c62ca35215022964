#include "runtime/Comm/Nccl/NcclLibrary.h"

namespace p3d {

static NcclLibrary openNccl() {
  SharedLibrary library("libnccl.so.2", "a program of several ranks for --target=cuda needs NCCL");
  NcclLibrary table{};
#define P3D_FIND(name) table.name = reinterpret_cast<decltype(&::name)>(library.need(P3D_CALL_NAME(name)));
  P3D_NCCL_CALLS(P3D_FIND)
#undef P3D_FIND
  return table;
}

const NcclLibrary &nccl() {
  static const NcclLibrary table = openNccl();
  return table;
}

void checkNccl(ncclResult_t result, const char *call) {
  if (result == ncclSuccess)
    return;
  const char *more = nccl().ncclGetLastError(nullptr);
  deviceError("{}: {}{}{}", call, nccl().ncclGetErrorString(result), more && *more ? ": " : "", more ? more : "");
}

void destroyCommunicator(ncclComm_t communicator) noexcept { (void)nccl().ncclCommDestroy(communicator); }

NcclRegistration::NcclRegistration(ncclComm_t communicator, void *memory, int64_t bytes) : communicator(communicator) {
  if (bytes > 0)
    P3D_NCCL(ncclCommRegister, communicator, memory, size_t(bytes), &handle);
}

NcclRegistration &NcclRegistration::operator=(NcclRegistration &&other) noexcept {
  std::swap(communicator, other.communicator);
  std::swap(handle, other.handle);
  return *this;
}

NcclRegistration::~NcclRegistration() {
  if (handle)
    (void)nccl().ncclCommDeregister(communicator, handle);
}

} // namespace p3d
