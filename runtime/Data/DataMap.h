// What a token file puts into the inputs of a program: by their names, or as --data-map says.
#pragma once
#include "runtime/Program/Program.h"
#include <map>
#include <optional>
#include <string>

namespace p3d {

/// What one input gets of each window of s + 1 tokens.
struct Feed {
  enum class Kind {
    Window,  ///< x[first : first + s]
    Range,   ///< 0, 1, ... along the last dimension
    Constant ///< `value` everywhere
  };
  Kind kind;
  int64_t first = 0;
  double value = 0;
};

/// By an input's name or its last part.
using DataMap = std::map<std::string, Feed>;

/// Reads "labels=x[1:s+1],position_ids=range,weights=1". A user error for anything else.
DataMap parseDataMap(const std::string &text);

/// The entry of `map` for an input, or the end.
DataMap::const_iterator findEntry(const DataMap &map, const Input &input);

/// What fills an input, if anything does. A user error where an entry does not fit it.
std::optional<Feed> feedOf(const Input &input, const DataMap &map);

} // namespace p3d
