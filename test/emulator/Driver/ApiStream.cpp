// Streams, events, waits for values, host functions.
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Objects.h"
#include <fmt/format.h>
#include <unistd.h>

using namespace p3d::emulator;

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *handle, unsigned int flags, int priority) {
  return driverCall([&](Machine &machine) {
    if (flags != CU_STREAM_NON_BLOCKING)
      fault("a stream that waits for the default stream: its implicit waits are not emulated; use "
            "CU_STREAM_NON_BLOCKING");
    Stream *stream = machine.createStream();
    if (!stream)
      return CUDA_ERROR_OUT_OF_MEMORY;
    stream->priority = priority;
    *handle = reinterpret_cast<CUstream>(stream);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamCreate(CUstream *handle, unsigned int flags) {
  return cuStreamCreateWithPriority(handle, flags, 0);
}

CUresult CUDAAPI cuStreamGetPriority(CUstream handle, int *priority) {
  return driverCall([&](Machine &) {
    Stream *stream = p3d::emulator::streamOf(handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
  });
}

/// Runs `body(stream)` under the lock.
template <typename Body> static CUresult withStream(CUstream handle, Body body) {
  return driverCall([&](Machine &machine) {
    Stream *stream = p3d::emulator::streamOf(handle);
    return stream ? body(machine, *stream) : CUDA_ERROR_INVALID_HANDLE;
  });
}

/// Waits without the lock; what has been waited for is then known to be done.
CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
  std::shared_ptr<Completion> completion;
  CUresult result = withStream(handle, [&](Machine &machine, Stream &stream) {
    if (stream.capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    completion = stream.record(machine.host);
    return CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS)
    return result;
  completion->wait();
  return driverCall([&](Machine &machine) {
    machine.host.join(completion->clock());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamDestroy(CUstream handle) {
  Stream *gone = nullptr;
  CUresult result = withStream(handle, [&](Machine &, Stream &stream) {
    gone = &stream;
    return stream.capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS)
    return result;
  gone->drain(); // without the lock: host functions may call the driver
  return driverCall([&](Machine &machine) {
    machine.destroyStream(gone);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamQuery(CUstream handle) {
  return withStream(handle, [&](Machine &machine, Stream &stream) {
    if (stream.capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!stream.isIdle())
      return CUDA_ERROR_NOT_READY;
    machine.host.join(stream.clockWhenIdle());
    return CUDA_SUCCESS;
  });
}

/// Runs `body(event)` under the lock.
template <typename Body> static CUresult withEvent(CUevent handle, Body body) {
  return driverCall([&](Machine &machine) {
    return objects().events.knows(handle) ? body(machine, *reinterpret_cast<Event *>(handle))
                                          : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned int) {
  return withEvent(eventHandle, [&](Machine &machine, Event &event) {
    Stream *stream = p3d::emulator::streamOf(handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!event.capture) {
      if (stream->capture)
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
      if (event.last)
        stream->waitFor(event.last, machine.host);
      return CUDA_SUCCESS;
    }
    if (stream->capture && stream->capture != event.capture)
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (event.capture->branches.empty())
      return CUDA_ERROR_CAPTURED_EVENT;
    if (!stream->capture)
      event.capture->join(stream);
    event.capture->wait(stream->branch, event.record);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventCreate(CUevent *handle, unsigned int flags) {
  return driverCall([&](Machine &) {
    Event *event = objects().events.create();
    event->hasTiming = !(flags & CU_EVENT_DISABLE_TIMING);
    *handle = reinterpret_cast<CUevent>(event);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventDestroy(CUevent handle) {
  return withEvent(handle, [&](Machine &, Event &event) {
    objects().events.destroy(&event);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventRecord(CUevent handle, CUstream streamHandle) {
  return withEvent(handle, [&](Machine &machine, Event &event) {
    Stream *stream = p3d::emulator::streamOf(streamHandle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    event.capture = stream->capture;
    if (stream->capture)
      event.record = stream->capture->record(stream->branch);
    else
      event.last = stream->record(machine.host);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventSynchronize(CUevent handle) {
  std::shared_ptr<Completion> completion;
  CUresult result = withEvent(handle, [&](Machine &, Event &event) {
    completion = event.last;
    return event.capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS || !completion)
    return result;
  completion->wait();
  return driverCall([&](Machine &machine) {
    machine.host.join(completion->clock());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventQuery(CUevent handle) {
  return withEvent(handle, [&](Machine &machine, Event &event) {
    if (event.capture)
      return CUDA_ERROR_CAPTURED_EVENT;
    if (!event.last)
      return CUDA_SUCCESS;
    if (!event.last->isDone())
      return CUDA_ERROR_NOT_READY;
    machine.host.join(event.last->clock());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent startHandle, CUevent endHandle) {
  return withEvent(startHandle, [&](Machine &, Event &start) {
    if (!objects().events.knows(endHandle))
      return CUDA_ERROR_INVALID_HANDLE;
    Event &end = *reinterpret_cast<Event *>(endHandle);
    if (!start.last || !end.last || !start.hasTiming || !end.hasTiming)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!start.last->isDone() || !end.last->isDone())
      return CUDA_ERROR_NOT_READY;
    *milliseconds = float((end.last->timeUs() - start.last->timeUs()) * 1e-3);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  return driverCall([&](Machine &machine) {
    return submit(machine, stream, {"host", "host function", 0, {}, {}, {}, [=](const Running &) { function(data); }});
  });
}

static bool holds(cuuint32_t found, cuuint32_t value, unsigned int condition) {
  return condition == CU_STREAM_WAIT_VALUE_EQ    ? found == value
         : condition == CU_STREAM_WAIT_VALUE_AND ? (found & value) != 0
                                                 : int32_t(found - value) >= 0; // cyclic
}

/// What the host had waited for when it wrote the value comes before what the stream does next.
CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int condition) {
  return driverCall([&](Machine &machine) {
    if (condition > CU_STREAM_WAIT_VALUE_AND)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (address % sizeof(value))
      return CUDA_ERROR_INVALID_VALUE;
    auto *at = reinterpret_cast<const cuuint32_t *>(address);
    std::string complaint = machine.memory.complaint(at, sizeof(value));
    if (!complaint.empty())
      fault("\"wait for a value\" reads " + complaint);
    auto wait = [at, value, condition](const Running &running) {
      while (!holds(__atomic_load_n(at, __ATOMIC_ACQUIRE), value, condition))
        usleep(50);
      Machine &machine = p3d::emulator::machine();
      std::lock_guard<std::mutex> lock(machine.mutex);
      running.learnt->join(machine.host);
    };
    return submit(machine, stream, {"wait", "wait for a value", 0, {}, {}, {}, wait});
  });
}
