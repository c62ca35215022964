// Numbers with units, as people read them.
#pragma once

#include <string>

namespace p3d {

/// "12.0 KiB": with the largest binary unit that leaves at least one.
std::string bytesText(double bytes);

} // namespace p3d
