// Capture of streams into graphs, and their launch. A launch puts the captured operations on the launching stream
// (branch 0) and on streams of the executable graph's own, with fresh completions for the captured events.
#include "test/emulator/Driver/Objects.h"

using namespace p3d::emulator;

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode) {
  return driverCall([&](Machine &) {
    Stream *stream = streamOf(handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
      return CUDA_ERROR_ILLEGAL_STATE;
    objects().graphs.create()->join(stream);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  return driverCall([&](Machine &) {
    Stream *stream = streamOf(handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    Capture *capture = stream->capture;
    if (!capture || stream->branch != 0)
      return capture ? CUDA_ERROR_STREAM_CAPTURE_UNMATCHED : CUDA_ERROR_ILLEGAL_STATE;
    *graph = nullptr;
    if (!capture->finish()) {
      objects().graphs.destroy(capture);
      return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    *graph = reinterpret_cast<CUgraph>(capture);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  return driverCall([&](Machine &) {
    Stream *stream = streamOf(handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *handle, CUgraph graphHandle, unsigned long long) {
  return driverCall([&](Machine &machine) {
    if (!objects().graphs.knows(graphHandle))
      return CUDA_ERROR_INVALID_HANDLE;
    auto *graph = reinterpret_cast<Capture *>(graphHandle);
    GraphExec *executable = objects().executables.create();
    executable->ops = graph->ops;
    executable->branches.push_back(nullptr);
    for (size_t branch = 1; branch < graph->branchCount; ++branch)
      executable->branches.push_back(machine.createStream());
    *handle = reinterpret_cast<CUgraphExec>(executable);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  return driverCall([&](Machine &machine) {
    Stream *stream = streamOf(streamHandle);
    if (!stream || !objects().executables.knows(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    auto *executable = reinterpret_cast<GraphExec *>(handle);
    std::vector<std::shared_ptr<Completion>> records;
    for (const CaptureOp &op : executable->ops) {
      Stream *branch = op.branch ? executable->branches[op.branch] : stream;
      if (op.kind == CaptureOp::Run)
        branch->push(op.command, machine.host);
      else if (op.kind == CaptureOp::Record)
        records.push_back(branch->record(machine.host));
      else
        branch->waitFor(records[op.record], machine.host);
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  return driverCall([&](Machine &) {
    if (!objects().graphs.knows(handle) || nodes)
      return nodes ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_HANDLE;
    *count = 0;
    for (const CaptureOp &op : reinterpret_cast<Capture *>(handle)->ops)
      *count += op.kind == CaptureOp::Run;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphDestroy(CUgraph handle) {
  return driverCall([&](Machine &) {
    if (!objects().graphs.knows(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    objects().graphs.destroy(reinterpret_cast<Capture *>(handle));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec handle) {
  std::vector<Stream *> branches;
  CUresult result = driverCall([&](Machine &) {
    if (!objects().executables.knows(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    auto *executable = reinterpret_cast<GraphExec *>(handle);
    branches = executable->branches;
    objects().executables.destroy(executable);
    return CUDA_SUCCESS;
  });
  for (Stream *branch : branches)
    if (branch)
      branch->drain();
  return result != CUDA_SUCCESS ? result : driverCall([&](Machine &machine) {
    for (Stream *branch : branches)
      if (branch)
        machine.destroyStream(branch);
    return CUDA_SUCCESS;
  });
}
