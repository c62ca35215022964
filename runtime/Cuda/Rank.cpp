// A rank of the CUDA target: one device, and NCCL to the other ranks.
#include "runtime/Rank.h"
#include "runtime/Comm/Nccl/NcclTransport.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Cuda/Current.h"
#include "runtime/Guard.h"
#include "runtime/Train/Trainer.h"
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace p3d {

CurrentRank currentRank;

/// The device of this rank among those that the process sees.
static int ordinalOf(int rank) {
  const char *local = std::getenv("LOCAL_RANK");
  int wanted = local ? std::atoi(local) : rank, devices = 0;
  P3D_CU(cuDeviceGetCount, &devices);
  if (wanted < devices)
    return wanted;
  if (std::getenv("P3D_SHARE_DEVICES")) // for tests: NCCL refuses it
    return wanted % devices;
  if (devices == 1 && std::getenv("CUDA_VISIBLE_DEVICES"))
    return 0; // each rank was given its own
  deviceError("local rank {} needs a device of its own, and this machine shows {}; start fewer ranks here", wanted,
              devices);
}

/// Says that the device is there, and waits for those of the others.
static void meetAtStart(const Control &control, int rank, const Context &device) {
  RankArea &area = control.rank(rank);
  char bus[textBytes], host[textBytes] = {};
  P3D_CU(cuDeviceGetPCIBusId, bus, int(sizeof(bus)), device.device());
  gethostname(host, sizeof(host) - 1);
  setText(area.device, bus), setText(area.host, host);
  area.isReady.store(1, std::memory_order_release);
  control.wakeLauncher();
  std::atomic<uint32_t> &mayStart = control.header().mayStart;
  // The launcher has the deadline.
  waitUntil(mayStart, -1, [&] { return mayStart.load(std::memory_order_acquire) != 0; });
}

/// Tensor parallelism without direct access works, slowly: whoever owns the machine should know.
static void checkPeerAccess(const Control &control, const Program &program, int rank, const Context &device) {
  std::vector<int> cannot;
  for (int peer : program.mesh.group(program.mesh.coordinates(rank), {P3D_TP})) {
    const RankArea &area = control.rank(peer);
    CUdevice other;
    int can = 1;
    // A device that this process does not see cannot be asked for.
    if (peer > rank && std::strcmp(area.host, control.rank(rank).host) == 0 &&
        std::strcmp(area.device, control.rank(rank).device) != 0 &&
        driver().cuDeviceGetByPCIBusId(&other, area.device) == CUDA_SUCCESS)
      P3D_CU(cuDeviceCanAccessPeer, &can, device.device(), other);
    if (!can)
      cannot.push_back(peer);
  }
  if (!cannot.empty())
    fmt::print(stderr,
               "p3d-run: remark: the device of rank {} has no direct access to those of ranks {} (tp); what they "
               "exchange goes through the host's memory\n",
               rank, listRanks(cannot));
}

void runRank(const Control &control, int rank) {
  Program program = Program::parse(p3d_program);
  if (program.mesh.size() != control.worldSize() || program.mesh.coordinates(rank).pp != program.stage)
    internalError("the program of stage {} was started as rank {} of {}", program.stage, rank, control.worldSize());
  ControlHeader &header = control.header();
  RunOptions options = RunOptions::fromJson(std::string(header.options, size_t(header.optionsBytes)));
  RankArea &area = control.rank(rank);
  setText(area.operation, "start of the device");
  CudaDevice device(program, ordinalOf(rank), {p3d_images, p3d_library_images});
  meetAtStart(control, rank, device.context);
  checkPeerAccess(control, program, rank, device.context);
  Watchdog watchdog(program, rank, control, device.context, int64_t(options.timeoutSeconds * 1e9));
  ControlIdExchange ids(control, rank);
  setText(area.operation, "making of communicators");
  NcclTransport transport(program, rank, control, device, watchdog, ids);
  p3d_context context{program, rank, program.mesh.coordinates(rank), control, device, transport};
  currentRank = {&context, &device};
  device.einsum.allowAtomics(!options.deterministic);
  if (options.cudaGraph)
    device.replayOrders([&](const std::function<void()> &launch) {
      watchdog.follow(device.streams.compute(), {Activity::Running, nullptr, {}, -1, {}}, launch);
    });
  area.activity.store(uint32_t(Activity::Running));
  // Unwinding would wait for streams that an error may have left stuck.
  guard(&context, [&] {
    Trainer(context, options, p3d_tasks).run();
    device.synchronize();
  });
  area.activity.store(uint32_t(Activity::Finished), std::memory_order_release);
}

} // namespace p3d
