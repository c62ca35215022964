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

std::optional<double> p3d::parseBytes(llvm::StringRef text) {
  size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  llvm::StringRef unit = text.substr(digits);
  double number = 0;
  if (text.take_front(digits).getAsDouble(number) || number <= 0)
    return std::nullopt;
  if (unit.empty() || unit == "B")
    return number;
  double thousand = unit.consume_back("iB") ? 1024 : unit.consume_back("B") ? 1000 : 0;
  size_t power = llvm::StringRef("KMGT").find(unit);
  if (thousand == 0 || unit.size() != 1 || power == llvm::StringRef::npos)
    return std::nullopt;
  for (size_t i = 0; i <= power; ++i)
    number *= thousand;
  return number;
}

std::string p3d::secondsText(double seconds) {
  if (seconds >= 1)
    return llvm::to_string(llvm::format("%.2f s", seconds));
  if (seconds >= 1e-3)
    return llvm::to_string(llvm::format("%.1f ms", seconds * 1e3));
  return llvm::to_string(llvm::format("%.1f us", seconds * 1e6));
}
