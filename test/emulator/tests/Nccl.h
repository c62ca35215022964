// NCCL as the runtime meets it: libnccl.so.2 opened by name.
#pragma once
#include "test/emulator/tests/Driver.h"
#include <nccl.h>

struct Nccl {
#define CALL(name) decltype(&::name) name = reinterpret_cast<decltype(&::name)>(symbolOf("libnccl.so.2", #name));
  CALL(ncclGetUniqueId)
  CALL(ncclGetVersion)
  CALL(ncclCommInitRank)
  CALL(ncclCommInitRankConfig)
  CALL(ncclCommDestroy)
  CALL(ncclCommFinalize)
  CALL(ncclCommAbort)
  CALL(ncclCommGetAsyncError)
  CALL(ncclCommRegister)
  CALL(ncclCommDeregister)
  CALL(ncclAllReduce)
  CALL(ncclAllGather)
  CALL(ncclReduceScatter)
  CALL(ncclBroadcast)
  CALL(ncclSend)
  CALL(ncclRecv)
  CALL(ncclGroupStart)
  CALL(ncclGroupEnd)
  CALL(ncclGetErrorString)
  CALL(ncclGetLastError)
#undef CALL

  void must(ncclResult_t result, const char *what) const {
    if (result == ncclSuccess)
      return;
    fprintf(stderr, "%s: %s: %s\n", what, ncclGetErrorString(result), ncclGetLastError(nullptr));
    exit(1);
  }
};
