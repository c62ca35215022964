// Each fault that the driver reports, seeded: the process ends with exit code 97 and says what happened.
#include "test/emulator/tests/Driver.h"
#include <gtest/gtest.h>
#include <unistd.h>

static constexpr int faultCode = 97;
#define EXPECT_FAULT(body, text) EXPECT_EXIT(body, testing::ExitedWithCode(faultCode), text)

/// Two streams that use the same memory.
struct Pair : Device {
  CUstream first = stream(), second = stream();
  CUdeviceptr x = allocate(256), y = allocate(256);
  void finish() {
    MUST((*this), cuStreamSynchronize(first));
    MUST((*this), cuStreamSynchronize(second));
  }
};

TEST(Fault, WriteThenReadWithoutWait) {
  EXPECT_FAULT(
      {
        Pair pair;
        pair.launch(pair.first, "stores", 1, 64, pair.x, 0, 64);
        pair.launch(pair.second, "scale", 1, 64, pair.y, pair.x, 2.0f, 64);
        pair.finish();
      },
      "emulator: .*race: \"(scale|stores)\" \\(command 1 of stream .\\) (reads|writes) what "
      "\"(scale|stores)\" \\(command 1 of stream .\\) (reads|writes), without a wait between them: offset .* of an "
      "allocation of 256 bytes");
}

TEST(Fault, ReadThenWriteWithoutWait) {
  EXPECT_FAULT(
      {
        Pair pair;
        MUST(pair, cuMemsetD8Async(pair.x, 0, 256, pair.first));
        pair.order(pair.first, pair.second);
        MUST(pair, cuMemcpyDtoDAsync(pair.y, pair.x, 256, pair.first));
        MUST(pair, cuMemsetD8Async(pair.x, 1, 256, pair.second));
        pair.finish();
      },
      "race: \"(copy on device|fill) of 256 bytes\"");
}

/// The wait is there, but the event was recorded too early.
TEST(Fault, EventRecordedTooEarly) {
  EXPECT_FAULT(
      {
        Pair pair;
        pair.order(pair.first, pair.second);
        pair.launch(pair.first, "stores", 1, 64, pair.x, 0, 64);
        pair.launch(pair.second, "scale", 1, 64, pair.y, pair.x, 2.0f, 64);
        pair.finish();
      },
      "race: ");
}

/// The value came before the host had waited for the writer.
TEST(Fault, ValueWrittenTooEarly) {
  EXPECT_FAULT(
      {
        Pair pair;
        uint32_t *flag = pair.host<uint32_t>(1);
        *flag = 1;
        pair.launch(pair.second, "stores", 1, 64, pair.x, 0, 64);
        MUST(pair, cuStreamWaitValue32(pair.first, CUdeviceptr(flag), 1, CU_STREAM_WAIT_VALUE_GEQ));
        pair.launch(pair.first, "scale", 1, 64, pair.y, pair.x, 2.0f, 64);
        usleep(20000);
        pair.finish();
      },
      "race: \"(scale|stores)\"");
}

TEST(Fault, WaitForAValueNowhere) {
  EXPECT_FAULT(
      {
        Pair pair;
        MUST(pair, cuStreamWaitValue32(pair.first, pair.x + 256, 1, CU_STREAM_WAIT_VALUE_GEQ));
      },
      "\"wait for a value\" reads out of bounds: 4 bytes at .*, 0 bytes beyond the end of an allocation of 256 bytes");
}

/// Readers on two streams; the writer has waited for one of them only.
TEST(Fault, OneOfTwoReadersNotWaitedFor) {
  EXPECT_FAULT(
      {
        Pair pair;
        CUstream third = pair.stream();
        CUdeviceptr z = pair.allocate(256);
        MUST(pair, cuMemsetD8Async(pair.x, 0, 256, pair.first));
        pair.order(pair.first, pair.second);
        pair.order(pair.first, third);
        MUST(pair, cuMemcpyDtoDAsync(pair.y, pair.x, 256, pair.second));
        MUST(pair, cuMemcpyDtoDAsync(z, pair.x, 256, third));
        pair.order(third, pair.first);
        MUST(pair, cuMemsetD8Async(pair.x, 1, 256, pair.first));
        pair.finish();
      },
      "race: \"(copy on device|fill) of 256 bytes\"");
}

TEST(Fault, NoRaceWhenTheHostWaits) {
  EXPECT_EXIT(
      {
        {
          Pair pair;
          pair.launch(pair.first, "stores", 1, 64, pair.x, 0, 64);
          MUST(pair, cuStreamSynchronize(pair.first));
          pair.launch(pair.second, "scale", 1, 64, pair.y, pair.x, 2.0f, 64);
        }
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

/// The second half of an arena while the first is read: not a race.
TEST(Fault, NoRaceBetweenNeighbours) {
  EXPECT_EXIT(
      {
        {
          Pair pair;
          MUST(pair, cuMemsetD8Async(pair.x, 0, 128, pair.first));
          MUST(pair, cuMemsetD8Async(pair.x + 128, 0, 128, pair.second));
        }
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Fault, FreedWithoutWait) {
  EXPECT_FAULT(
      {
        Device device;
        CUstream stream = device.stream();
        CUdeviceptr x;
        MUST(device, cuMemAlloc(&x, 256));
        device.launch(stream, "stores", 1, 64, x, 0, 64);
        usleep(200000);
        MUST(device, cuMemFree(x));
      },
      "race: the host frees an allocation of 256 bytes that \"stores\" \\(command 1 of stream 0\\) writes, without "
      "waiting");
}

TEST(Fault, KernelOutOfBounds) {
  EXPECT_FAULT(
      {
        Pair pair;
        pair.launch(pair.first, "stores", 2, 64, pair.x, 0, 65);
        pair.finish();
      },
      "kernel stores: block \\(1,0,0\\), thread \\(0,0,0\\): write of 4 bytes at .*: out of bounds: 4 bytes at .*, 0 "
      "bytes "
      "beyond the end of an allocation of 256 bytes of stream 0");
}

TEST(Fault, KernelBeforeAllocation) {
  EXPECT_FAULT(
      {
        Pair pair;
        pair.launch(pair.first, "stores", 1, 64, pair.x, -2, 64);
        pair.finish();
      },
      "out of bounds: 4 bytes at .*, 8 bytes before an allocation");
}

TEST(Fault, KernelNullPointer) {
  EXPECT_FAULT(
      {
        Pair pair;
        pair.launch(pair.first, "stores", 1, 64, CUdeviceptr(0), 0, 64);
        pair.finish();
      },
      "write of 4 bytes at .*: out of bounds: .*outside any allocation");
}

TEST(Fault, SharedMemoryOutOfBounds) {
  EXPECT_FAULT(
      {
        Pair pair;
        pair.launch(pair.first, "sharedBeyond", 1, 32, pair.x, 31);
        pair.launch(pair.first, "sharedBeyond", 1, 32, pair.x, 32);
        pair.finish();
      },
      "kernel sharedBeyond: block \\(0,0,0\\), thread \\(0,0,0\\): write of 4 bytes at .*: out of bounds");
}

/// The allocation is gone when the kernel comes to it, though the host has not.
TEST(Fault, UsedAfterFree) {
  EXPECT_FAULT(
      {
        Device device;
        CUstream stream = device.stream();
        CUdeviceptr x;
        MUST(device, cuMemAlloc(&x, 256));
        MUST(device, cuMemFree(x));
        device.launch(stream, "stores", 1, 64, x, 0, 64);
        MUST(device, cuStreamSynchronize(stream));
      },
      "write of 4 bytes at .*: out of bounds: .*outside any allocation");
}

TEST(Fault, WideAccess) {
  EXPECT_FAULT(
      {
        Pair pair;
        pair.launch(pair.first, "storesWide", 1, 1, pair.x, 60);
        pair.launch(pair.first, "storesWide", 1, 1, pair.x, 62);
        pair.finish();
      },
      "kernel storesWide: block \\(0,0,0\\), thread \\(0,0,0\\): misaligned access");
  EXPECT_FAULT(
      {
        Pair pair;
        pair.launch(pair.first, "storesWide", 1, 1, pair.x, 64);
        pair.finish();
      },
      "write of 16 bytes at .*: out of bounds");
}

TEST(Fault, CopyOutOfBounds) {
  EXPECT_FAULT(
      {
        Pair pair;
        MUST(pair, cuMemcpyDtoDAsync(pair.y + 16, pair.x, 256, pair.first));
      },
      "\"copy on device of 256 bytes\" writes out of bounds: 256 bytes at offset 16 of an allocation of 256 bytes");
}

TEST(Fault, BarrierDivergence) {
  EXPECT_FAULT(
      {
        Pair pair;
        pair.launch(pair.first, "divergent", 1, 64, pair.x, 40);
        pair.finish();
      },
      "kernel divergent: block \\(0,0,0\\): divergent wait: of 64 threads 40 wait at barrier 0 .*of stream 0");
}

TEST(Fault, RaceInsideGraphs) {
  EXPECT_FAULT(
      {
        Pair pair;
        CUgraph graph;
        CUgraphExec executable;
        MUST(pair, cuStreamBeginCapture(pair.first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        pair.order(pair.first, pair.second);
        pair.launch(pair.first, "stores", 1, 64, pair.x, 0, 64);
        pair.launch(pair.second, "scale", 1, 64, pair.y, pair.x, 2.0f, 64);
        pair.order(pair.second, pair.first);
        MUST(pair, cuStreamEndCapture(pair.first, &graph));
        MUST(pair, cuGraphInstantiate(&executable, graph, 0));
        MUST(pair, cuGraphLaunch(executable, pair.first));
        pair.finish();
      },
      "race: ");
}

TEST(Fault, DefaultStream) {
  EXPECT_FAULT(
      {
        Pair pair;
        MUST(pair, cuMemsetD8Async(pair.x, 0, 256, nullptr));
      },
      "the default stream is used");
}

TEST(Fault, Leaks) {
  EXPECT_FAULT(
      {
        auto *device = new Device;
        device->stream();
        device->event();
        device->allocate(64);
        device->host<float>(4);
        device->kernel("scale");
        exit(0);
      },
      "leak: the process ends with 1 stream, 1 event, 1 device allocation, 1 pinned host allocation, 1 module, 1 "
      "primary "
      "context");
}

/// A process that has failed for another reason keeps its own exit code.
TEST(Fault, NoLeakReportAfterFailure) {
  EXPECT_EXIT(
      {
        (new Device)->stream();
        exit(3);
      },
      testing::ExitedWithCode(3), "");
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  return RUN_ALL_TESTS();
}
