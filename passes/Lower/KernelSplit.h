// What a kernel says of the loop that threads can share.
#pragma once

namespace p3d::lower {

/// Of a function whose last two arguments are begin and end of one of its loops: the loop's extent, and the least
/// extent of a part.
constexpr const char *kSplitAttr = "p3d.split";

} // namespace p3d::lower
