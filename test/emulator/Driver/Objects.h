// What the driver's handles point to, and what every call begins with.
#pragma once
#include "test/emulator/Driver/Capture.h"
#include "test/emulator/Driver/Machine.h"
#include "test/emulator/Kernel/EmulatedModule.h"
#include <cuda.h>
#include <set>

namespace p3d::emulator {

struct Event {
  std::shared_ptr<Completion> last; ///< of the last record; null: never recorded
  bool hasTiming = true;
  Capture *capture = nullptr; ///< where it was recorded last, if that was in a capture
  size_t record = 0;          ///< its number there
};

struct Module;

struct Function {
  Module *module;
  const P3dKernel *kernel;
  size_t dynamicSharedLimit = 0; ///< beyond what every kernel may have
};

struct Module {
  std::shared_ptr<EmulatedModule> code;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct GraphExec {
  std::vector<CaptureOp> ops;
  std::vector<Stream *> branches; ///< branch 0 is the stream that it is launched on
};

/// The live objects of a type; a handle is known if it is one of them.
template <typename Object> class Registry {
public:
  Object *create() {
    auto *object = new Object;
    live.insert(object);
    return object;
  }
  bool knows(const void *handle) const { return live.count(static_cast<const Object *>(handle)) != 0; }
  void destroy(Object *object) {
    live.erase(object);
    delete object;
  }
  size_t count() const { return live.size(); }

private:
  std::set<const Object *> live;
};

struct Objects {
  Registry<Event> events;
  Registry<Module> modules;
  std::set<const Function *> functions;
  Registry<Capture> graphs;
  Registry<GraphExec> executables;
  std::vector<int> contexts; ///< how often each device's primary context is retained
  bool isInitialised = false;
};
Objects &objects();

/// The device whose primary context is current in this thread, or -1.
int currentDevice();
void setCurrentDevice(int device);

/// Runs `body(machine)` under the lock, if the driver is initialised and the thread has a context.
template <typename Body> CUresult driverCall(Body body) {
  if (!objects().isInitialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (currentDevice() < 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard<std::mutex> lock(machine().mutex);
  return body(machine());
}

/// The stream of a handle; the default stream, whose implicit waits are not emulated, is a fault.
Stream *streamOf(CUstream handle);

/// Puts a command on a stream, or into the graph that the stream is capturing. For the driver's calls: under the lock.
CUresult submit(Machine &machine, CUstream stream, Command command);
/// The same for the other libraries: takes the lock itself.
CUresult enqueue(CUstream stream, Command command);
/// Whether the stream is being captured.
bool isCapturing(CUstream stream);

} // namespace p3d::emulator
