#include "test/gpu/Nccl/DriverCarrier.h"
#include "test/emulator/Driver/Fault.h"
#include "test/gpu/Nccl/DriverMover.h"
#include <cstdlib>
#include <fmt/format.h>
#include <stdexcept>

using namespace p3d;
using p3d::emulator::Collective;
using p3d::emulator::Communicator;
using p3d::emulator::Transfer;

namespace p3dtest {

static CUcontext currentContext() {
  CUcontext context = nullptr;
  P3D_STAND_IN_CU(cuCtxGetCurrent, &context);
  return context;
}

DriverCarrier::DriverCarrier(std::shared_ptr<Communicator> communicator)
    : Carrier(std::move(communicator)), context(currentContext()), done(allocatePinned(sizeof(uint32_t))) {
  __atomic_store_n(reinterpret_cast<uint32_t *>(done.get()), 0, __ATOMIC_RELEASE);
  worker = std::thread([this] { work(); });
}

DriverCarrier::~DriverCarrier() {
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  worker.join();
  for (auto &[stream, event] : passed) // they still read `done`
    (void)standInCalls().cuEventSynchronize(event.get());
}

std::string DriverCarrier::carry(CUstream stream, const Collective &collective) {
  return enqueue(stream,
                 [this, collective, ticket = communicator->nextTicket()] { communicator->run(collective, ticket); });
}

std::string DriverCarrier::carry(CUstream stream, const std::vector<Transfer> &transfers) {
  return enqueue(stream,
                 [this, transfers, ticket = communicator->nextTicket()] { communicator->run(transfers, ticket); });
}

/// A thread that waits for it sleeps: there are more such threads than processors.
Event DriverCarrier::takeEvent() {
  std::lock_guard lock(mutex);
  if (!freeEvents.empty()) {
    Event event = std::move(freeEvents.back());
    freeEvents.pop_back();
    return event;
  }
  CUevent event;
  P3D_CU(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
  return Event(event);
}

std::string DriverCarrier::enqueue(CUstream stream, const std::function<void()> &run) {
  try {
    CUstreamCaptureStatus status;
    P3D_STAND_IN_CU(cuStreamIsCapturing, stream, &status);
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
      return "the stand-in for NCCL has no collectives in graphs; run without --cuda-graph";
    Job job{takeEvent(), run, ++last};
    P3D_CU(cuEventRecord, job.ready.get(), stream);
    P3D_STAND_IN_CU(cuStreamWaitValue32, stream, reinterpret_cast<CUdeviceptr>(done.get()), job.number,
                    CU_STREAM_WAIT_VALUE_GEQ);
    Event &passed = this->passed.try_emplace(stream).first->second;
    if (!passed)
      passed = takeEvent();
    P3D_CU(cuEventRecord, passed.get(), stream);
    std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
    changed.notify_all();
    return "";
  } catch (const DeviceError &error) {
    return error.what();
  }
}

void DriverCarrier::work() {
  try {
    P3D_CU(cuCtxSetCurrent, context);
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return !jobs.empty() || isEnding; });
      if (jobs.empty())
        return;
      Job job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      P3D_STAND_IN_CU(cuEventSynchronize, job.ready.get());
      job.run();
      __atomic_store_n(reinterpret_cast<uint32_t *>(done.get()), job.number, __ATOMIC_RELEASE);
      lock.lock();
      freeEvents.push_back(std::move(job.ready));
    }
  } catch (const std::exception &error) {
    emulator::fault(fmt::format("communicator {}: {}", communicator->name, error.what()));
  }
}

} // namespace p3dtest

/// What a real driver needs, or a stream that waits holds up the copies that would end its wait.
static void needSetting(const char *name, const char *value, const char *why) {
  const char *found = std::getenv(name);
  if (!found || std::string(found) != value)
    throw std::runtime_error(
        fmt::format("the stand-in for NCCL needs {}={}, not {}: {}", name, value, found && *found ? found : "nothing", why));
}

namespace p3d::emulator {

std::unique_ptr<Carrier> makeCarrier(const std::string &board, const std::string &name, int ranks, int rank) {
  needSetting("CUDA_DEVICE_MAX_CONNECTIONS", "32", "streams must not share a queue of the device");
  needSetting("CUDA_MODULE_LOADING", "EAGER", "a kernel that is loaded at its first launch waits for all streams");
  return std::make_unique<p3dtest::DriverCarrier>(
      std::make_shared<Communicator>(board, name, ranks, rank, std::make_unique<p3dtest::DriverMover>()));
}

int deviceOfThread() {
  CUdevice device = -1;
  return p3dtest::standInCalls().cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

/// The driver does not tell what is allocated where.
std::string registerBuffer(const void *, size_t) { return ""; }
void deregisterBuffer() {}

} // namespace p3d::emulator
