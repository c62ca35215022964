#include "runtime/Data/DataMap.h"
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Error.h"
#include <charconv>

namespace p3d {
namespace {

constexpr struct {
  const char *name;
  int64_t first;
} windowsByName[] = {{"tokens", 0}, {"input_ids", 0}, {"targets", 1}, {"labels", 0}};

std::string lastPart(const std::string &name) {
  return name.substr(name.rfind('.') + 1);
}

bool isWindow(const Input &input) {
  return input.globalShape.size() == 2 && input.batchDim == 0 && !info(input.dtype).isFloat && info(input.dtype).bytes >= 4;
}

Feed parseFeed(const std::string &entry, const std::string &text) {
  if (text == "x[0:s]" || text == "x[1:s+1]")
    return {Feed::Kind::Window, text == "x[0:s]" ? 0 : 1};
  if (text == "range")
    return {Feed::Kind::Range};
  Feed feed{Feed::Kind::Constant};
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), feed.value);
  if (failed != std::errc() || end != text.data() + text.size())
    userError("--data-map: {}: expected NAME=x[0:s], NAME=x[1:s+1], NAME=range or NAME=number", entry);
  return feed;
}

} // namespace

DataMap parseDataMap(const std::string &text) {
  DataMap map;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string entry = text.substr(begin, end - begin);
    size_t equals = std::min(entry.find('='), entry.size());
    std::string name = entry.substr(0, equals);
    Feed feed = parseFeed(entry, entry.substr(std::min(equals + 1, entry.size())));
    if (!map.emplace(name, feed).second)
      userError("--data-map: {} is given twice", name);
    begin = end + 1;
  }
  return map;
}

DataMap::const_iterator findEntry(const DataMap &map, const Input &input) {
  auto found = map.find(input.name);
  return found != map.end() ? found : map.find(lastPart(input.name));
}

std::optional<Feed> feedOf(const Input &input, const DataMap &map) {
  auto found = findEntry(map, input);
  if (found != map.end()) {
    Feed feed = found->second;
    if (feed.kind == Feed::Kind::Window && !isWindow(input))
      userError("--data-map: {} is {}{}, and windows of tokens are for integers [b, s] of 32 or 64 bits", input.name, info(input.dtype).name,
                shapeText(input.globalShape));
    if (feed.kind == Feed::Kind::Range && input.globalShape.empty())
      userError("--data-map: {} is a single number, and a range is for a dimension; give the number", input.name);
    return feed;
  }
  std::string name = lastPart(input.name);
  for (const auto &known : windowsByName)
    if (name == known.name && isWindow(input))
      return Feed{Feed::Kind::Window, known.first};
  if (info(input.dtype).isFloat && name.find("mask") != std::string::npos)
    return Feed{Feed::Kind::Constant, 0, 1};
  return std::nullopt;
}

} // namespace p3d
