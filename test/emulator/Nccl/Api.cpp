// The calls of NCCL that the runtime makes. Inside a group calls are kept; at its end each collective becomes a
// command, and the transfers of one communicator on one stream become one command together.
#include "test/emulator/Nccl/Carrier.h"
#include <cstring>
#include <fmt/format.h>
#include <random>
#include <stdexcept>
#include <thread>
#include <unistd.h>

using namespace p3d::emulator;

struct ncclComm {
  std::unique_ptr<Carrier> carrier;
  std::thread joining; ///< of a communicator that is made without blocking
  std::atomic<ncclResult_t> state{ncclInProgress};
  int device = 0;
  bool isFinalized = false;

  Communicator &communicator() const { return *carrier->communicator; }
};

namespace {
struct Pending {
  ncclComm *comm;
  CUstream stream;
  bool isTransfer;
  Collective collective;
  Transfer transfer;
};
} // namespace

static thread_local int groupDepth = 0;
static thread_local std::vector<Pending> pending;
static thread_local std::string lastError;

static ncclResult_t fail(ncclResult_t result, const std::string &text) {
  lastError = text;
  return result;
}

// -------------------------------------------------------------------------------------------- communicators

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::random_device random;
  memset(id, 0, sizeof(*id));
  std::string name = fmt::format("p3d-nccl-{}-{:08x}{:08x}", getpid(), random(), random());
  memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *result, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
  id.internal[sizeof(id.internal) - 1] = 0;
  std::string board = id.internal;
  if (ranks < 1 || ranks > 1024 || rank < 0 || rank >= ranks || board.rfind("p3d-nccl-", 0) != 0)
    return fail(ncclInvalidArgument,
                fmt::format("a communicator with rank {} of {} and the id \"{}\"", rank, ranks, board));
  int device = deviceOfThread();
  if (device < 0)
    return fail(ncclUnhandledCudaError, "a communicator is made without a current context");
  bool isNamed = config && config->commName && config->commName != NCCL_CONFIG_UNDEF_PTR;
  auto *comm = new ncclComm;
  comm->device = device;
  try {
    comm->carrier = makeCarrier(board, isNamed ? config->commName : board, ranks, rank);
  } catch (const std::runtime_error &error) {
    delete comm;
    return fail(ncclInvalidUsage, error.what());
  }
  auto join = [comm] { comm->state = comm->communicator().join() ? ncclSuccess : ncclInternalError; };
  *result = comm;
  if (config && config->blocking == 0) {
    comm->joining = std::thread(join);
    return ncclInProgress;
  }
  join();
  return comm->state;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, ranks, id, rank, nullptr);
}

static ncclResult_t destroy(ncclComm *comm) {
  if (comm->joining.joinable())
    comm->joining.join();
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  comm->isFinalized = true;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return comm ? destroy(comm) : ncclSuccess; }
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm)
    return ncclSuccess;
  comm->communicator().abort();
  return destroy(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  *error = comm->state == ncclSuccess ? comm->communicator().asyncError() : comm->state.load();
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
  *count = comm->communicator().ranks;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  *rank = comm->communicator().rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device) {
  *device = comm->device;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t, void *buffer, size_t bytes, void **handle) {
  std::string complaint = registerBuffer(buffer, bytes);
  if (!complaint.empty())
    return fail(ncclInvalidArgument, "registers memory " + complaint);
  *handle = buffer;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t, void *handle) {
  if (!handle)
    return fail(ncclInvalidArgument, "deregisters nothing");
  deregisterBuffer();
  return ncclSuccess;
}

const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }

const char *ncclGetErrorString(ncclResult_t result) {
  static const char *const texts[] = {"no error",
                                      "unhandled cuda error",
                                      "unhandled system error",
                                      "internal error",
                                      "invalid argument",
                                      "invalid usage",
                                      "remote process exited or there was a network error",
                                      "operation in progress"};
  return unsigned(result) < sizeof(texts) / sizeof(*texts) ? texts[result] : "unknown result code";
}

// ------------------------------------------------------------------------------------------------- commands

static ncclResult_t resultOf(const std::string &complaint) {
  return complaint.empty() ? ncclSuccess : fail(ncclUnhandledCudaError, complaint);
}

static ncclResult_t flush() {
  std::vector<Pending> all = std::move(pending);
  pending.clear();
  ncclResult_t result = ncclSuccess;
  while (!all.empty() && result == ncclSuccess) {
    Pending first = all.front();
    if (!first.isTransfer) {
      result = resultOf(first.comm->carrier->carry(first.stream, first.collective));
      all.erase(all.begin());
      continue;
    }
    std::vector<Transfer> together;
    std::vector<Pending> rest;
    for (const Pending &one : all)
      if (one.isTransfer && one.comm == first.comm && one.stream == first.stream)
        together.push_back(one.transfer);
      else
        rest.push_back(one);
    result = resultOf(first.comm->carrier->carry(first.stream, together));
    all = std::move(rest);
  }
  return result;
}

ncclResult_t ncclGroupStart() {
  ++groupDepth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (groupDepth == 0)
    return fail(ncclInvalidUsage, "a group ends that has not begun");
  return --groupDepth ? ncclSuccess : flush();
}

static ncclResult_t submit(ncclComm *comm, const Pending &one, ncclDataType_t type) {
  if (!comm || comm->state != ncclSuccess || comm->isFinalized)
    return fail(ncclInvalidUsage, "a communicator that is not ready, or no longer");
  if (!bytesOf(type))
    return fail(ncclInvalidArgument, fmt::format("the element {} is not emulated", nameOf(type)));
  pending.push_back(one);
  return groupDepth ? ncclSuccess : flush();
}

static ncclResult_t collective(CollectiveKind kind, const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, int root, ncclComm *comm, cudaStream_t stream) {
  if (!isKnown(op))
    return fail(ncclInvalidArgument, fmt::format("the reduction {} is not emulated", nameOf(op)));
  if (comm && (root < 0 || root >= comm->communicator().ranks))
    return fail(ncclInvalidArgument, fmt::format("root {} of {} ranks", root, comm->communicator().ranks));
  Collective c{kind, static_cast<const char *>(from), static_cast<char *>(to), count, type, op, root};
  return submit(comm, {comm, reinterpret_cast<CUstream>(stream), false, c, {}}, type);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return collective(CollectiveKind::AllReduce, from, to, count, type, op, 0, comm, stream);
}
ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return collective(CollectiveKind::AllGather, from, to, count, type, ncclSum, 0, comm, stream);
}
ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return collective(CollectiveKind::ReduceScatter, from, to, count, type, op, 0, comm, stream);
}
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return collective(CollectiveKind::Broadcast, from, to, count, type, ncclSum, root, comm, stream);
}
ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return collective(CollectiveKind::Reduce, from, to, count, type, op, root, comm, stream);
}

static ncclResult_t transfer(bool isSend, void *address, size_t count, ncclDataType_t type, int peer, ncclComm *comm,
                             cudaStream_t stream) {
  if (comm && (peer < 0 || peer >= comm->communicator().ranks))
    return fail(ncclInvalidArgument, fmt::format("peer {} of {} ranks", peer, comm->communicator().ranks));
  Transfer t{isSend, static_cast<char *>(address), count, type, peer};
  return submit(comm, {comm, reinterpret_cast<CUstream>(stream), true, {}, t}, type);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return transfer(true, const_cast<void *>(from), count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return transfer(false, to, count, type, peer, comm, stream);
}
