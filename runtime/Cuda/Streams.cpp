#include "runtime/Cuda/Streams.h"

namespace p3d {

Streams::Streams(int events) : start(makeEvent()) {
  for (int s = 0; s < count; ++s)
    streams[s] = makeStream(), joined[s] = makeEvent();
  for (int e = 0; e < events; ++e)
    this->events.push_back(makeEvent());
  isRecorded.resize(this->events.size());
  fork();
}

CUstream Streams::use(int stream) {
  if (stream < 0 || stream >= count)
    internalError("there is no stream {}", stream);
  CUstream handle = streams[stream].get();
  if (stream != P3D_STREAM_COMPUTE && !isUsed[stream]) {
    isUsed[stream] = true;
    P3D_CU(cuStreamWaitEvent, handle, start.get(), 0);
  }
  return handle;
}

CUevent Streams::eventOf(int number) const {
  if (number < 0 || number >= int(events.size()))
    internalError("event {} is none of the {} of the program", number, events.size());
  return events[number].get();
}

void Streams::record(int event, int stream) {
  P3D_CU(cuEventRecord, eventOf(event), use(stream));
  isRecorded[event] = true;
}

Streams::Stall &Streams::nextStall() {
  if (openStalls == stalls.size())
    stalls.push_back({makeEvent(true), makeEvent(true)});
  return stalls[openStalls++];
}

void Streams::wait(int event, int stream) {
  CUevent handle = eventOf(event);
  if (!isRecorded[event]) // what the event stood for came before the fork
    return;
  if (stream != P3D_STREAM_COMPUTE || capturing)
    return P3D_CU(cuStreamWaitEvent, use(stream), handle, 0);
  Stall &stall = nextStall();
  P3D_CU(cuEventRecord, stall.before.get(), compute());
  P3D_CU(cuStreamWaitEvent, compute(), handle, 0);
  P3D_CU(cuEventRecord, stall.after.get(), compute());
}

void Streams::takeStalls() {
  for (size_t i = 0; i < openStalls; ++i) {
    float milliseconds = 0;
    P3D_CU(cuEventElapsedTime, &milliseconds, stalls[i].before.get(), stalls[i].after.get());
    stalled += int64_t(double(milliseconds) * 1e6);
  }
  openStalls = 0;
}

void Streams::fork() {
  P3D_CU(cuEventRecord, start.get(), compute());
  for (bool &used : isUsed)
    used = false;
  isRecorded.assign(isRecorded.size(), false);
}

void Streams::join() {
  for (int s = 0; s < count; ++s)
    if (isUsed[s]) {
      P3D_CU(cuEventRecord, joined[s].get(), streams[s].get());
      P3D_CU(cuStreamWaitEvent, compute(), joined[s].get(), 0);
    }
}

void Streams::beginCapture() {
  // Other threads go on asking for events.
  P3D_CU(cuStreamBeginCapture, compute(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  capturing = true;
}

Graph Streams::endCapture() {
  CUgraph graph;
  P3D_CU(cuStreamEndCapture, compute(), &graph);
  capturing = false;
  return Graph(graph);
}

void Streams::settle() noexcept {
  for (Stream &stream : streams)
    (void)driver().cuStreamSynchronize(stream.get());
}

} // namespace p3d
