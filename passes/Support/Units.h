// Numbers with units, as people read them.
#pragma once

#include <string>

namespace p3d {

/// "12.0 KiB": with the largest binary unit that leaves at least one.
std::string bytesText(double bytes);

/// "7.66 s", "12.3 ms", "4.0 us".
std::string secondsText(double seconds);

} // namespace p3d
