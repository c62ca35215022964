// The line that a long compile shows on a terminal.
#include "compiler/Progress.h"
#include "gtest/gtest.h"

using namespace p3d;
using namespace std::chrono_literals;

/// What is written while the steps "import" and "lower" take `duration` each.
static std::string shownBy(bool isTerminal, std::chrono::milliseconds patience, std::chrono::milliseconds duration) {
  std::string text;
  llvm::raw_string_ostream os(text);
  {
    Progress progress(os, isTerminal, patience);
    for (const char *step : {"import", "lower"}) {
      progress.enter(step);
      std::this_thread::sleep_for(duration);
    }
  }
  return text;
}

TEST(Progress, ShowsStepsAndTakesTheLineAway) {
  std::string text = shownBy(true, 1ms, 200ms);
  EXPECT_EQ(text.find("\033[Kimport, "), 0u);
  EXPECT_NE(text.find("\r\033[Klower, "), std::string::npos);
  EXPECT_TRUE(llvm::StringRef(text).ends_with("\r\033[K"));
}

TEST(Progress, IsSilentWhereNobodyWaits) { EXPECT_EQ(shownBy(true, 1h, 1ms), ""); }

TEST(Progress, IsSilentInFiles) { EXPECT_EQ(shownBy(false, 0ms, 20ms), ""); }
