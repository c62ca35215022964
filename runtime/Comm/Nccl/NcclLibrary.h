// NCCL: the calls that the runtime makes, found in libnccl.so.2 when the first is needed.
#pragma once
#include "runtime/Cuda/Owners.h"
#include <nccl.h>

// The one list of calls.
#define P3D_NCCL_CALLS(CALL)                                                                                           \
  CALL(ncclGetUniqueId)                                                                                                \
  CALL(ncclCommInitRankConfig)                                                                                         \
  CALL(ncclCommDestroy)                                                                                                \
  CALL(ncclCommGetAsyncError)                                                                                          \
  CALL(ncclCommRegister)                                                                                               \
  CALL(ncclCommDeregister)                                                                                             \
  CALL(ncclAllReduce)                                                                                                  \
  CALL(ncclAllGather)                                                                                                  \
  CALL(ncclReduceScatter)                                                                                              \
  CALL(ncclSend)                                                                                                       \
  CALL(ncclRecv)                                                                                                       \
  CALL(ncclGroupStart)                                                                                                 \
  CALL(ncclGroupEnd)                                                                                                   \
  CALL(ncclGetErrorString)                                                                                             \
  CALL(ncclGetLastError)

namespace p3d {

struct NcclLibrary {
#define P3D_DECLARE(name) decltype(&::name) name;
  P3D_NCCL_CALLS(P3D_DECLARE)
#undef P3D_DECLARE
};

/// NCCL, opened at the first call; a DeviceError without it.
const NcclLibrary &nccl();

/// Throws a DeviceError that names `call`, unless `result` is success.
void checkNccl(ncclResult_t result, const char *call);

void destroyCommunicator(ncclComm_t communicator) noexcept;
using NcclCommunicator = Owner<ncclComm_t, destroyCommunicator>;

/// Memory that a communicator may use without copies of its own.
class NcclRegistration {
public:
  NcclRegistration() = default;
  NcclRegistration(ncclComm_t communicator, void *memory, int64_t bytes);
  NcclRegistration(NcclRegistration &&other) noexcept { *this = std::move(other); }
  NcclRegistration &operator=(NcclRegistration &&other) noexcept;
  ~NcclRegistration();

private:
  ncclComm_t communicator = nullptr;
  void *handle = nullptr; ///< null too where NCCL has no use for it
};

} // namespace p3d

/// Makes a call of NCCL and throws if it fails.
#define P3D_NCCL(call, ...) ::p3d::checkNccl(::p3d::nccl().call(__VA_ARGS__), #call)
