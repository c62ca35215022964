#include "passes/Support/Units.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/ScopedPrinter.h"

std::string p3d::bytesText(double bytes) {
  constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    bytes /= 1024;
  return llvm::to_string(llvm::format(unit ? "%.1f " : "%.0f ", bytes)) + kUnits[unit];
}

std::string p3d::secondsText(double seconds) {
  if (seconds >= 1)
    return llvm::to_string(llvm::format("%.2f s", seconds));
  if (seconds >= 1e-3)
    return llvm::to_string(llvm::format("%.1f ms", seconds * 1e3));
  return llvm::to_string(llvm::format("%.1f us", seconds * 1e6));
}
