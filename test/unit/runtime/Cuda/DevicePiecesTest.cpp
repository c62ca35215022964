#include "runtime/Cuda/DevicePieces.h"
#include <gtest/gtest.h>

namespace {

TEST(DevicePieces, StandInTheArenaWhileThereIsRoom) {
  p3d::Context context(0);
  const CUdeviceptr arena = 4096; // nobody writes there
  p3d::DevicePieces pieces(arena, 512);
  int64_t before = p3d::allocatedDeviceBytes();
  EXPECT_EQ(pieces.take(0, "tables"), arena);
  EXPECT_EQ(pieces.take(1, "tables"), arena);
  EXPECT_EQ(pieces.take(256, "tables"), arena + 256);
  EXPECT_EQ(p3d::allocatedDeviceBytes(), before);
  EXPECT_NE(pieces.take(10, "tables"), 0u);
  EXPECT_EQ(p3d::allocatedDeviceBytes(), before + 10);
}

} // namespace
