// Sizes as people write them.
#pragma once
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace p3d {

/// Bytes of "80GiB", "80GB", "0.5TB" or "1024"; nothing if `text` is no such number above 0.
inline std::optional<double> parseBytes(std::string_view text) {
  double number = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (failed != std::errc() || !std::isfinite(number) || number <= 0)
    return std::nullopt;
  std::string_view unit = text.substr(size_t(end - text.data()));
  if (unit.empty() || unit == "B")
    return number;
  size_t power = std::string_view("KMGT").find(unit.front());
  unit.remove_prefix(1);
  if (power == std::string_view::npos || (unit != "B" && unit != "iB"))
    return std::nullopt;
  return number * std::pow(unit == "B" ? 1000 : 1024, double(power + 1));
}

} // namespace p3d
