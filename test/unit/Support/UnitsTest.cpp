// Numbers with units, read and written.
#include "passes/Support/Units.h"
#include "runtime/include/p3d/units.h"
#include <gtest/gtest.h>

using namespace p3d;

namespace {
TEST(Units, BytesAreWrittenWithTheLargestUnit) {
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(12 * 1024), "12.0 KiB");
  EXPECT_EQ(bytesText(50.75 * (1 << 30)), "50.8 GiB");
}

TEST(Units, BytesAreReadWithAndWithoutUnit) {
  EXPECT_EQ(parseBytes("1024"), 1024);
  EXPECT_EQ(parseBytes("7B"), 7);
  EXPECT_EQ(parseBytes("80GB"), 80e9);
  EXPECT_EQ(parseBytes("80GiB"), 80. * (1 << 30));
  EXPECT_EQ(parseBytes("1.5KiB"), 1536);
  EXPECT_EQ(parseBytes("2TB"), 2e12);
}

TEST(Units, WhatIsNoNumberOfBytesIsRefused) {
  for (const char *text : {"", "GB", "0", "-1GB", "80Gb", "80 GB", "80G", "1..2GB", "80XB", "80iB"})
    EXPECT_FALSE(parseBytes(text)) << text;
}
} // namespace
