// Numbers with units, as people read them.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace p3d {

/// "12.0 KiB": with the largest binary unit that leaves at least one.
std::string bytesText(double bytes);

/// Bytes of "80GiB", "80GB", "0.5TB" or "1024"; nothing if `text` is no such number above 0.
std::optional<double> parseBytes(llvm::StringRef text);

/// "7.66 s", "12.3 ms", "4.0 us".
std::string secondsText(double seconds);

} // namespace p3d
