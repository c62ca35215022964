// The emulated driver: a program does on it what it does on a GPU.
#include "test/emulator/tests/Driver.h"
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <unistd.h>

TEST(Driver, DevicesAndErrors) {
  Driver driver;
  int value = 0;
  size_t bytes = 0;
  char name[64];
  ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDriverGetVersion(&value), CUDA_SUCCESS);
  EXPECT_EQ(value, CUDA_VERSION);
  EXPECT_EQ(driver.cuDeviceGetCount(&value), CUDA_SUCCESS);
  EXPECT_EQ(value, 8);
  EXPECT_EQ(driver.cuDeviceGetName(name, sizeof(name), 3), CUDA_SUCCESS);
  EXPECT_STREQ(name, "Emulated GPU 3");
  EXPECT_EQ(driver.cuDeviceGetName(name, sizeof(name), 8), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuDeviceTotalMem(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(bytes, size_t(80) << 30);
  EXPECT_EQ(driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 8);
  CUdeviceptr address;
  EXPECT_EQ(driver.cuMemAlloc(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
  const char *text;
  EXPECT_EQ(driver.cuGetErrorName(CUDA_ERROR_NOT_READY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_NOT_READY");
  void *found = nullptr;
  EXPECT_EQ(driver.cuGetProcAddress("cuMemAlloc", &found, CUDA_VERSION, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void *>(driver.cuMemAlloc));
}

TEST(Driver, KernelsAndCopies) {
  Device device;
  CUstream stream = device.stream();
  CUdeviceptr x = device.allocate(1000 * 4), y = device.allocate(1000 * 4);
  float *staged = device.host<float>(1000);
  for (int i = 0; i < 1000; ++i)
    staged[i] = i;
  MUST(device, cuMemcpyHtoDAsync(x, staged, 4000, stream));
  device.launch(stream, "scale", 8, 128, y, x, 3.0f, 1000);
  std::vector<float> result = device.read(y, 1000, stream);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(result[i], 3.0f * i);
  MUST(device, cuMemsetD32Async(y, 0x40000000, 500, stream));
  MUST(device, cuMemcpyDtoDAsync(y + 2000, y, 2000, stream));
  EXPECT_EQ(device.read(y, 1000, stream)[999], 2.0f);
}

TEST(Driver, FreshMemoryIsPoisoned) {
  Device device;
  CUstream stream = device.stream();
  CUdeviceptr x = device.allocate(64);
  EXPECT_TRUE(std::isnan(device.read(x, 16, stream)[15]));
  // The target of a copy is poisoned until the copy has run, so that a host that does not wait sees it.
  float *staged = device.host<float>(16);
  staged[3] = 1;
  MUST(device, cuMemsetD8Async(x, 0, 64, stream));
  Gate gate;
  MUST(device, cuLaunchHostFunc(stream, Gate::wait, &gate));
  MUST(device, cuMemcpyDtoHAsync(staged, x, 64, stream));
  EXPECT_TRUE(std::isnan(staged[3]));
  gate.open();
  MUST(device, cuStreamSynchronize(stream));
  EXPECT_EQ(staged[3], 0);
}

TEST(Driver, StreamsAreAsynchronous) {
  Device device;
  CUstream slow = device.stream(), fast = device.stream();
  CUevent start = device.event(0), end = device.event(0);
  MUST(device, cuEventRecord(start, slow));
  Gate gate;
  MUST(device, cuLaunchHostFunc(slow, Gate::wait, &gate));
  MUST(device, cuEventRecord(end, slow));
  EXPECT_EQ(device.cuStreamQuery(slow), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(device.cuEventQuery(end), CUDA_ERROR_NOT_READY);
  MUST(device, cuStreamSynchronize(fast));
  EXPECT_EQ(device.cuEventQuery(end), CUDA_ERROR_NOT_READY);
  MUST(device, cuEventSynchronize(start));
  usleep(50000);
  gate.open();
  MUST(device, cuEventSynchronize(end));
  EXPECT_EQ(device.cuStreamQuery(slow), CUDA_SUCCESS);
  float milliseconds;
  MUST(device, cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 50); // what was slept between the two
}

TEST(Driver, EventsOrderStreams) {
  Device device;
  CUstream first = device.stream(), second = device.stream();
  CUdeviceptr x = device.allocate(256), y = device.allocate(256);
  for (int round = 0; round < 20; ++round) {
    device.launch(first, "stores", 1, 64, x, 0, 64);
    device.order(first, second);
    device.launch(second, "scale", 1, 64, y, x, float(round), 64);
    device.order(second, first);
  }
  EXPECT_EQ(device.read(y, 64, second)[5], 5 * 19.0f);
}

/// A stream waits until the host writes the number. What the host had waited for by then comes before what the stream
/// does next, and before what another stream does after that.
TEST(Driver, StreamsWaitForValues) {
  Device device;
  CUstream waiting = device.stream(), other = device.stream(), third = device.stream();
  CUdeviceptr x = device.allocate(256), y = device.allocate(256), z = device.allocate(256);
  uint32_t *flag = device.host<uint32_t>(1);
  *flag = 0xfffffffe; // the comparison is cyclic
  MUST(device, cuStreamWaitValue32(waiting, CUdeviceptr(flag), 0xffffffff, CU_STREAM_WAIT_VALUE_GEQ));
  device.launch(waiting, "scale", 1, 64, y, x, 2.0f, 64);
  device.order(waiting, third);
  device.launch(third, "scale", 1, 64, z, x, 3.0f, 64);
  device.launch(other, "stores", 1, 64, x, 0, 64);
  MUST(device, cuStreamSynchronize(other));
  EXPECT_EQ(device.cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  EXPECT_EQ(device.read(z, 64, third)[5], 15);
  EXPECT_EQ(device.read(y, 64, waiting)[5], 10);
  MUST(device, cuStreamWaitValue32(waiting, CUdeviceptr(flag), 1, CU_STREAM_WAIT_VALUE_EQ));
  MUST(device, cuStreamWaitValue32(waiting, CUdeviceptr(flag), 3, CU_STREAM_WAIT_VALUE_AND));
  EXPECT_EQ(device.cuStreamWaitValue32(waiting, CUdeviceptr(flag), 1, CU_STREAM_WAIT_VALUE_NOR),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(device.cuStreamWaitValue32(waiting, CUdeviceptr(flag) + 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(Driver, MemoryIsLimited) {
  Device device;
  size_t free, total;
  CUdeviceptr address;
  MUST(device, cuMemGetInfo(&free, &total));
  EXPECT_EQ(free, total);
  EXPECT_EQ(device.cuMemAlloc(&address, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  device.allocate(1000);
  MUST(device, cuMemGetInfo(&free, &total));
  EXPECT_EQ(free, total - 1000);
}

TEST(Driver, FunctionsAndOccupancy) {
  Device device;
  CUfunction reverse = device.kernel("reverse"), bounded = device.kernel("bounded");
  int value;
  MUST(device, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
  EXPECT_EQ(value, 64);
  CUstream stream = device.stream();
  CUdeviceptr x = device.allocate(512);
  void *arguments[] = {&x};
  auto launch = [&](CUfunction function, unsigned threads, unsigned shared) {
    return device.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared, stream, arguments, nullptr);
  };
  EXPECT_EQ(launch(bounded, 65, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(reverse, 128, 60 << 10), CUDA_ERROR_INVALID_VALUE);
  MUST(device, cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
  EXPECT_EQ(launch(reverse, 128, 60 << 10), CUDA_SUCCESS);
  MUST(device, cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, reverse, 128, 60 << 10));
  EXPECT_EQ(value, 2);
  CUmodule module;
  char image[16] = "\x7f"
                   "ELF";
  EXPECT_EQ(device.cuModuleLoadData(&module, image), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST(Driver, GraphsReplay) {
  Device device;
  CUstream first = device.stream(), second = device.stream();
  CUdeviceptr x = device.allocate(256), y = device.allocate(256), sum = device.allocate(8);
  MUST(device, cuMemsetD32Async(sum, 0, 2, first));
  CUgraph graph;
  CUgraphExec executable;
  MUST(device, cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  device.launch(first, "stores", 1, 64, x, 0, 64);
  device.order(first, second);
  device.launch(second, "scale", 1, 64, y, x, 2.0f, 64);
  device.launch(first, "atomicSum", 1, 64, sum, x);
  device.order(second, first);
  device.launch(first, "atomicSum", 1, 64, sum, y);
  EXPECT_EQ(device.cuStreamSynchronize(first), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  MUST(device, cuStreamEndCapture(first, &graph));
  MUST(device, cuGraphInstantiate(&executable, graph, 0));
  MUST(device, cuGraphDestroy(graph));
  EXPECT_EQ(device.read(sum, 1, first)[0], 0); // nothing has run
  for (int i = 0; i < 3; ++i)
    MUST(device, cuGraphLaunch(executable, first));
  EXPECT_EQ(device.read(sum, 1, first)[0], 3 * 3 * 2016.0f);
  MUST(device, cuGraphExecDestroy(executable));
}

TEST(Driver, GraphsWantTheirStreamsJoined) {
  Device device;
  CUstream first = device.stream(), second = device.stream();
  CUdeviceptr x = device.allocate(256);
  CUgraph graph;
  MUST(device, cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  device.order(first, second);
  device.launch(second, "stores", 1, 64, x, 0, 64);
  EXPECT_EQ(device.cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}
