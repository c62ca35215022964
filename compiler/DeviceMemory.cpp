#include "compiler/DeviceMemory.h"
#include "passes/Support/Units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace p3d;

/// "optimizer state 25.4 GiB, saved activations 21.0 GiB, ..", the biggest first.
static std::string kindsText(const StageMemory &memory) {
  std::pair<const char *, int64_t> kinds[] = {{"parameters", memory.params},
                                              {"gradients", memory.grads},
                                              {"optimizer state", memory.optimizer},
                                              {"activations", memory.activations},
                                              {"workspace", memory.workspace}};
  llvm::stable_sort(kinds, [](auto &a, auto &b) { return a.second > b.second; });
  return llvm::join(llvm::map_range(kinds, [](auto &kind) { return (kind.first + (" " + bytesText(kind.second))); }), ", ");
}

static std::string holdersText(const StageMemory &memory) {
  constexpr size_t kShown = 5;
  return llvm::join(llvm::map_range(ArrayRef(memory.holders).take_front(kShown),
                                    [](auto &holder) { return holder.what + " " + bytesText(holder.bytes); }),
                    "; ");
}

LogicalResult p3d::checkDeviceMemory(ModuleOp scheduled, ArrayRef<StageMemory> memory, const Options &options,
                                     Replanner *replanner) {
  int64_t limit = options.deviceMemory;
  size_t stage = fullestStage(memory);
  const StageMemory *fullest = &memory[stage];
  if (limit == 0 || fullest->total <= limit)
    return success();
  InFlightDiagnostic error = emitError(scheduled.getLoc());
  error << llvm::formatv("stage {0} takes {1} on each of its devices, which have {2}", stage,
                         bytesText(fullest->total), bytesText(limit))
               .str();
  error.attachNote() << "of these: " << kindsText(*fullest);
  error.attachNote() << "the biggest: " << holdersText(*fullest);
  if (!replanner)
    return error;
  SmallVector<std::string> singles;
  for (const Alternative &single : replanner->singles())
    if (single.bytes < fullest->total)
      singles.push_back(single.flags + ": " + bytesText(single.bytes));
  if (!singles.empty())
    error.attachNote() << "the fullest stage with one flag changed: " << llvm::join(singles, "; ");
  std::optional<Alternative> best = replanner->fitting(limit, fullest->total);
  if (best && best->bytes <= limit)
    error << llvm::formatv("; it fits with {0}: {1}", best->flags, bytesText(best->bytes)).str();
  else if (best)
    error << llvm::formatv("; no flags make it fit, the smallest is {0} with {1}: use more stages, more ranks of tp, or a "
                           "shorter batch",
                           bytesText(best->bytes), best->flags)
                 .str();
  else
    error << "; no flags make it smaller: use more stages, more ranks of tp, or a shorter batch";
  return error;
}
