#include "compiler/ScheduleOption.h"
#include "compiler/Options.h"
#include "passes/Schedule/ScheduleChecker.h"
#include "passes/Schedule/ScheduleText.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace p3d;

namespace {
/// "FILE:LINE:COLUMN: error: ..." with the line of the text.
std::optional<Schedule> parse(llvm::SourceMgr &sources, llvm::StringRef text) {
  return parseSchedule(text, [&](llvm::StringRef place, const llvm::Twine &fault) {
    sources.PrintMessage(llvm::SMLoc::getFromPointer(place.data()), llvm::SourceMgr::DK_Error, fault);
  });
}
} // namespace

llvm::Expected<WrittenSchedule> p3d::readScheduleFile(llvm::StringRef path, int64_t stages, int64_t microbatches) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("--schedule=" + path + ": " + buffer.getError().message());
  return readSchedule((*buffer)->getBuffer(), path, stages, microbatches);
}

llvm::Expected<WrittenSchedule> p3d::readSchedule(llvm::StringRef text, llvm::StringRef where, int64_t stages,
                                                  int64_t microbatches) {
  auto fail = [&](const llvm::Twine &fault) { return llvm::createStringError("--schedule=" + where + ": " + fault); };
  llvm::SourceMgr sources;
  unsigned number = sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, where), llvm::SMLoc());
  std::optional<Schedule> orders = parse(sources, sources.getMemoryBuffer(number)->getBuffer());
  if (!orders)
    return fail("is no schedule; expected the actions of each stage on a line");
  ScheduleSize size{stages, microbatches ? microbatches : countMicrobatches(*orders), countChunks(*orders)};
  std::optional<std::string> faultOfLoop;
  for (Placement placement : {Placement::Loop, Placement::Vee}) {
    auto fault = ScheduleChecker::forChain(size, placement).check(*orders, countSlots(*orders));
    if (!fault)
      return WrittenSchedule{std::move(*orders), placement};
    if (placement == Placement::Loop)
      faultOfLoop = fault;
  }
  return fail("cannot be run: " + *faultOfLoop);
}

// Here and not beside the flags, of which each tool has its own.
bool Options::splitsBackward() const { return written ? p3d::splitsBackward(written->orders) : findSchedule(schedule)->splitsBackward; }

Placement Options::placement() const { return written ? written->placement : findSchedule(schedule)->placement; }
