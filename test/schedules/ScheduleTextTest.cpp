// Schedules as text.
#include "passes/Schedule/ScheduleText.h"
#include "passes/Schedule/Schedules.h"
#include <gtest/gtest.h>

using namespace p3d;

/// "LINE:COLUMN: fault" of a text that is none.
static std::string faultOf(llvm::StringRef text) {
  std::string fault;
  EXPECT_FALSE(parseSchedule(text, [&](llvm::StringRef place, const llvm::Twine &found) {
    llvm::StringRef before = text.take_front(place.data() - text.data());
    fault = (llvm::Twine(before.count('\n') + 1) + ":" + llvm::Twine(before.size() - (before.rfind('\n') + 1) + 1) +
             ": " + found)
                .str();
  }));
  return fault;
}

TEST(ScheduleText, ReadsBack) {
  auto refuse = [](llvm::StringRef, const llvm::Twine &fault) { FAIL() << fault.str(); };
  for (const NamedSchedule &entry : getSchedules()) {
    Schedule schedule = entry.make({3, 4, entry.chunks});
    EXPECT_EQ(parseSchedule(printSchedule(schedule), refuse), schedule) << entry.name.str();
  }
  EXPECT_EQ(parseSchedule("# two stages\n\nF0  F1 B0\tB1 # first\r\n stage 1 F0 B0 F1 B1", refuse),
            parseSchedule("stage 0: F0 F1 B0 B1\nstage 1 : F0 B0 F1 B1\n", refuse));
}

TEST(ScheduleText, SaysWhereItIsWrong) {
  EXPECT_EQ(faultOf("F0 B0\nF0 X0"), "2:4: found 'X0', expected an action like F0, B0 or W0, or F0.1 for chunk 1");
  EXPECT_EQ(faultOf("F0:B0"), "1:3: found ':', expected an action like F0, B0 or W0, or F0.1 for chunk 1");
  EXPECT_EQ(faultOf("stage 0: F0 B0\nstage 2: F0 B0"),
            "2:7: found stage '2', expected 1: one line for each stage, in order");
  EXPECT_EQ(faultOf("stage F0 B0"), "1:7: found stage 'F0', expected 0: one line for each stage, in order");
  EXPECT_EQ(faultOf("# nothing\n"), "1:1: found no stage, expected a line of actions like F0 B0 for each");
}
