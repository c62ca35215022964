// The communicators of a rank, all-reduce, and transfers between stages.
#include "runtime/Comm/Nccl/NcclTransport.h"
#include "runtime/DType.h"
#include <algorithm>
#include <chrono>
#include <thread>

namespace p3d {

NcclTransport::NcclTransport(const Program &program, int rank, const Control &control, CudaDevice &device,
                             Watchdog &watchdog, IdExchange &ids)
    : program(program), rank(rank), at(program.mesh.coordinates(rank)), control(control), device(device),
      watchdog(watchdog) {
  auto make = [&](p3d_axis axis, int index, int stream, const char *name, int ordinal) {
    auto group = std::make_unique<Group>(Group{Communicator(control, program, rank, axis, index), stream, {}, {}});
    std::string number = ordinal > 0 ? fmt::format(" {}", ordinal) : "";
    connect(*group, fmt::format("{}{} of ranks {}", name, number, listRanks(group->identity.members())), ids);
    return group;
  };
  groups[{P3D_TP, 0}] = make(P3D_TP, 0, P3D_STREAM_TP, "tp", 0);
  if (program.mesh.tpMinor > 1) {
    groups[{P3D_TP_MAJOR, 0}] = make(P3D_TP_MAJOR, 0, P3D_STREAM_TP, "tp_major", 0);
    groups[{P3D_TP_MINOR, 0}] = make(P3D_TP_MINOR, 0, P3D_STREAM_TP, "tp_minor", 0);
  }
  groups[{P3D_DP, 0}] = make(P3D_DP, 0, P3D_STREAM_DP, "dp", 0);
  forward = make(P3D_PP, 0, P3D_STREAM_FORWARD, "forward", 0);
  backward = make(P3D_PP, 0, P3D_STREAM_BACKWARD, "backward", 0);
  if (program.chunks > 1) {
    turnedForward = make(P3D_PP, 0, P3D_STREAM_TURNED_FORWARD, "turned_forward", 0);
    turnedBackward = make(P3D_PP, 0, P3D_STREAM_TURNED_BACKWARD, "turned_backward", 0);
  }
  // Programs may list their tied groups in different orders; all ranks make them in that of their stages.
  std::vector<int> tied;
  for (int index = 0; index < int(program.tiedGroups.size()); ++index)
    if (std::count(program.tiedGroups[index].begin(), program.tiedGroups[index].end(), at.pp))
      tied.push_back(index);
  std::stable_sort(tied.begin(), tied.end(),
                   [&](int a, int b) { return program.tiedGroups[a] < program.tiedGroups[b]; });
  int ordinal = 0;
  for (size_t i = 0; i < tied.size(); ++i) {
    bool isAgain = i > 0 && program.tiedGroups[tied[i]] == program.tiedGroups[tied[i - 1]];
    ordinal = isAgain ? ordinal + 1 : 0;
    groups[{P3D_TIED, tied[i]}] = make(P3D_TIED, tied[i], P3D_STREAM_TIED, "tied", ordinal);
  }
  groups[{P3D_NORM, 0}] = make(P3D_NORM, 0, P3D_STREAM_NORM, "norm", 0);
}

void NcclTransport::connect(Group &group, const std::string &name, IdExchange &ids) {
  if (group.size() == 1)
    return;
  int first = group.identity.members().front();
  Operation operation{Activity::InCollective, &group.identity, {}, -1, {}};
  group.identity.stamp(operation.call);
  watchdog.perform(operation, [&] {
    ncclUniqueId id;
    if (first == rank) {
      P3D_NCCL(ncclGetUniqueId, &id);
      ids.give(name, id);
    } else {
      id = ids.take(name, first);
    }
    ncclComm_t made;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.commName = name.c_str();
    P3D_NCCL(ncclCommInitRankConfig, &made, group.size(), id, group.identity.self(), &config);
    group.communicator = NcclCommunicator(made);
    // Where NCCL can, it then moves data straight from the arena.
    group.arena = NcclRegistration(made, device.arena(), program.arenaBytes);
  });
  ncclComm_t handle = group.communicator.get();
  watchdog.alsoCheck([handle] {
    ncclResult_t error = ncclSuccess;
    P3D_NCCL(ncclCommGetAsyncError, handle, &error);
    // Somebody else has ended; who watches that rank says how, and stops this one.
    if (error == ncclRemoteError)
      std::this_thread::sleep_for(std::chrono::seconds(2));
    if (error != ncclInProgress)
      checkNccl(error, "ncclCommGetAsyncError");
  });
}

NcclTransport::Group &NcclTransport::groupOf(p3d_axis axis, int index) {
  if (axis == P3D_PP && index == 0)
    return *forward;
  auto found = groups.find({axis, index});
  if (found == groups.end())
    internalError("there is no group {} of axis {}", index, axisName(axis));
  return *found->second;
}

void NcclTransport::collective(Group &group, CallKind kind, const std::function<void(CUstream)> &enqueue) {
  CUstream stream = device.streams.use(group.stream);
  if (group.size() == 1)
    return enqueue(stream);
  device.countCollective();
  Operation operation{Activity::InCollective, &group.identity, {}, -1, {}};
  operation.call.kind = kind;
  group.identity.stamp(operation.call);
  enqueueWatched(stream, operation, [&] { enqueue(stream); });
}

ncclDataType_t ncclTypeOf(p3d_dtype dtype) {
  switch (dtype) {
  case P3D_F32:
    return ncclFloat32;
  case P3D_BF16:
    return ncclBfloat16;
  case P3D_F16:
    return ncclFloat16;
  case P3D_F64:
    return ncclFloat64;
  case P3D_I32:
    return ncclInt32;
  case P3D_I64:
    return ncclInt64;
  case P3D_UI32:
    return ncclUint32;
  case P3D_UI64:
    return ncclUint64;
  case P3D_I8:
    return ncclInt8;
  case P3D_I1:
  case P3D_UI8:
    return ncclUint8;
  case P3D_I16:
  case P3D_UI16:
    break;
  }
  userError("NCCL cannot reduce elements of type {}; convert to i32 before the reduction", info(dtype).name);
}

ncclRedOp_t ncclOperationOf(p3d_reduce_kind kind, p3d_dtype dtype) {
  // An i1 is 0 or 1: its sum is the logical or, its product the logical and.
  bool isLogical = dtype == P3D_I1;
  switch (kind) {
  case P3D_SUM:
    return isLogical ? ncclMax : ncclSum;
  case P3D_PROD:
    return isLogical ? ncclMin : ncclProd;
  case P3D_MAX:
    return ncclMax;
  case P3D_MIN:
    return ncclMin;
  case P3D_AND:
    if (isLogical)
      return ncclMin;
    break;
  case P3D_OR:
    if (isLogical)
      return ncclMax;
    break;
  }
  userError("NCCL cannot reduce {} by a bitwise operation; reduce i1 instead", info(dtype).name);
}

void NcclTransport::allReduce(p3d_axis axis, int index, p3d_reduce_kind kind, p3d_dtype dtype, void *data,
                              int64_t count) {
  Group &group = groupOf(axis, index);
  if (group.size() == 1 || count == 0)
    return;
  ncclDataType_t type = ncclTypeOf(dtype);
  ncclRedOp_t operation = ncclOperationOf(kind, dtype);
  collective(group, CallKind::AllReduce, [&](CUstream stream) {
    P3D_NCCL(ncclAllReduce, data, data, size_t(count), type, operation, group.communicator.get(), stream);
  });
}

void NcclTransport::sumOverNorm(double *value) { allReduce(P3D_NORM, 0, P3D_SUM, P3D_F64, value, 1); }

int NcclTransport::peerOf(int stage) const {
  if (stage < 0 || stage >= program.stages || stage == at.pp)
    internalError("stage {} has no transfer with stage {}", at.pp, stage);
  return program.mesh.rankOf({at.tp, stage, at.dp});
}

static int indexOf(const std::vector<int> &members, int rank) {
  return int(std::find(members.begin(), members.end(), rank) - members.begin());
}

NcclTransport::Group &NcclTransport::lineOf(int value, bool goesToLater) {
  if (program.turnedTransfers.count(value))
    return goesToLater ? *turnedBackward : *turnedForward;
  return goesToLater ? *forward : *backward;
}

void NcclTransport::send(int toStage, int value, int64_t mb, int64_t slot, const void *data, int64_t bytes) {
  int peer = peerOf(toStage);
  Group &line = lineOf(value, toStage > at.pp);
  CUstream stream = device.streams.use(line.stream);
  Operation operation{Activity::AwaitingReceiver,
                      nullptr,
                      {},
                      peer,
                      fmt::format("for transfer {} of microbatch {} to be received by", value, mb)};
  device.countCollective();
  enqueueWatched(stream, operation, [&] {
    P3D_NCCL(ncclSend, data, size_t(bytes), ncclInt8, indexOf(line.identity.members(), peer), line.communicator.get(),
             stream);
  });
  Sent &last = sent[{slot, line.stream}];
  if (!last.event)
    last.event = makeEvent();
  P3D_CU(cuEventRecord, last.event.get(), stream);
  last.isOpen = true;
}

void NcclTransport::receive(int fromStage, int value, int64_t mb, void *data, int64_t bytes) {
  int peer = peerOf(fromStage);
  Group &line = lineOf(value, fromStage < at.pp);
  CUstream stream = device.streams.use(line.stream);
  Operation operation{
      Activity::Receiving, nullptr, {}, peer, fmt::format("for transfer {} of microbatch {} from", value, mb)};
  device.countCollective();
  enqueueWatched(stream, operation, [&] {
    P3D_NCCL(ncclRecv, data, size_t(bytes), ncclInt8, indexOf(line.identity.members(), peer), line.communicator.get(),
             stream);
  });
}

void NcclTransport::enqueueWatched(CUstream stream, const Operation &operation, const std::function<void()> &enqueue) {
  if (device.streams.isCapturing())
    enqueue();
  else
    watchdog.follow(stream, operation, enqueue);
}

void NcclTransport::finishAllSends() {
  for (auto &[place, last] : sent)
    last.isOpen = false;
}

void NcclTransport::finishSends(int64_t slot) {
  for (int stream : {P3D_STREAM_FORWARD, P3D_STREAM_BACKWARD, P3D_STREAM_TURNED_FORWARD, P3D_STREAM_TURNED_BACKWARD}) {
    auto found = sent.find({slot, stream});
    if (found == sent.end() || !found->second.isOpen)
      continue;
    P3D_CU(cuStreamWaitEvent, device.streams.compute(), found->second.event.get(), 0);
    found->second.isOpen = false;
  }
}

} // namespace p3d
