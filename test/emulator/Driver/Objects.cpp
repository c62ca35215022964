#include "test/emulator/Driver/Objects.h"
#include "test/emulator/Driver/Fault.h"

namespace p3d::emulator {

Objects &objects() {
  static Objects *only = new Objects;
  return *only;
}

static thread_local int current = -1;
int currentDevice() { return current; }
void setCurrentDevice(int device) { current = device; }

Stream *streamOf(CUstream handle) {
  if (!handle)
    fault("the default stream is used, whose implicit waits are not emulated: make a stream");
  auto *stream = reinterpret_cast<Stream *>(handle);
  return machine().knows(stream) ? stream : nullptr;
}

CUresult submit(Machine &machine, CUstream handle, Command command) {
  Stream *stream = streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  machine.checkBounds(command);
  if (stream->capture)
    stream->capture->run(stream->branch, std::move(command));
  else
    stream->push(std::move(command), machine.host);
  return CUDA_SUCCESS;
}

CUresult enqueue(CUstream stream, Command command) {
  return driverCall([&](Machine &machine) { return submit(machine, stream, std::move(command)); });
}

bool isCapturing(CUstream handle) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  Stream *stream = streamOf(handle);
  return stream && stream->capture;
}

} // namespace p3d::emulator
