// Reads and checks safetensors.
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Error.h"
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

using nlohmann::json;

namespace p3d {

static constexpr int64_t maxHeaderBytes = 100'000'000; // as the reference does

std::string shapeText(const std::vector<int64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

SafetensorsFile::SafetensorsFile(MappedFile mapped) : file(std::move(mapped)) {
  readHeader();
}

static constexpr std::string_view indexSuffix = ".index.json";

static bool isIndex(const std::string &path) {
  return path.size() > indexSuffix.size() &&
         path.compare(path.size() - indexSuffix.size(), indexSuffix.size(),
                      indexSuffix) == 0;
}

std::string indexPathOf(const std::string &path) {
  return isIndex(path) ? path : path + std::string(indexSuffix);
}

SafetensorsFile::SafetensorsFile(const std::string &path) {
  std::string index = indexPathOf(path);
  bool hasIndex = isIndex(path) || (!std::filesystem::exists(path) &&
                                    std::filesystem::exists(index));
  file = MappedFile(hasIndex ? index : path);
  if (hasIndex)
    readIndex();
  else
    readHeader();
}

SafetensorsFile::SafetensorsFile(std::vector<SafetensorsFile> parts) {
  for (SafetensorsFile &part : parts)
    addPart(std::move(part));
}

const std::string &SafetensorsFile::name() const {
  return file.name().empty() && !shards.empty() ? shards.front().name()
                                                : file.name();
}

const TensorView *SafetensorsFile::find(const std::string &name) const {
  auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

const TensorView &
SafetensorsFile::expect(const std::string &name, p3d_dtype dtype,
                        const std::vector<int64_t> &shape) const {
  const TensorView *view = find(name);
  if (!view)
    userError("{}: tensor {} is missing; expected {} {}", this->name(), name,
              info(dtype).fileName, shapeText(shape));
  if (view->dtype != dtype || view->shape != shape)
    userError("{}: tensor {} has type {} {}, expected {} {}", this->name(), name,
              info(view->dtype).fileName, shapeText(view->shape),
              info(dtype).fileName, shapeText(shape));
  return *view;
}

/// `text` without what a terminal may take for a command.
static std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

/// Parses the header and refuses a name that stands twice.
static json parseHeader(const std::string &file, const char *text,
                        int64_t bytes) {
  std::set<std::string> names;
  auto check = [&](int depth, json::parse_event_t event, json &value) {
    if (depth == 1 && event == json::parse_event_t::key &&
        !names.insert(value.get<std::string>()).second)
      userError("{}: tensor {} stands twice in the header", file,
                value.get<std::string>());
    return true;
  };
  try {
    return json::parse(text, text + bytes, check);
  } catch (const json::parse_error &error) {
    userError("{}: header is not JSON at offset {}: {}", file,
              8 + int64_t(error.byte), printable(error.what()));
  }
}

static int64_t readInteger(const std::string &file, const std::string &tensor,
                           const char *field, const json &value) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0)
    userError("{}: tensor {}: {} holds {}, expected a number not below 0", file,
              tensor, field, value.dump());
  return value.get<int64_t>();
}

static std::vector<int64_t> readShape(const std::string &file,
                                      const std::string &tensor,
                                      const json &list) {
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const json &extent : list) {
    shape.push_back(readInteger(file, tensor, "shape", extent));
    if (__builtin_mul_overflow(count, shape.back(), &count) ||
        count > INT64_MAX / 8)
      userError("{}: tensor {}: shape {} is too large", file, tensor,
                list.dump());
  }
  return shape;
}

static TensorView readTensor(const MappedFile &file, const std::string &name,
                             const json &entry, int64_t dataStart) {
  const std::string &label = file.name();
  for (const char *field : {"dtype", "shape", "data_offsets"})
    if (!entry.is_object() || !entry.contains(field))
      userError("{}: tensor {}: field {} is missing", label, name, field);
  const json &dtype = entry["dtype"], &shape = entry["shape"],
             &offsets = entry["data_offsets"];
  std::optional<p3d_dtype> type;
  if (dtype.is_string())
    type = parseFileDType(dtype.get<std::string>());
  if (!type)
    userError("{}: tensor {}: dtype {} is not supported", label, name,
              dtype.dump());
  if (!shape.is_array())
    userError("{}: tensor {}: shape is no list", label, name);
  if (!offsets.is_array() || offsets.size() != 2)
    userError("{}: tensor {}: data_offsets is {}, expected two numbers", label,
              name, offsets.dump());
  TensorView view;
  view.dtype = *type;
  view.shape = readShape(label, name, shape);
  int64_t begin = readInteger(label, name, "data_offsets", offsets[0]);
  int64_t end = readInteger(label, name, "data_offsets", offsets[1]);
  int64_t room = file.size() - dataStart;
  if (begin > end || end > room)
    userError("{}: tensor {}: data_offsets [{}, {}) are outside the {} bytes "
              "of data that follow offset {}; the file may be cut short",
              label, name, begin, end, room, dataStart);
  int64_t bytes = info(view.dtype).bytes;
  for (int64_t extent : view.shape)
    bytes *= extent;
  if (end - begin != bytes)
    userError("{}: tensor {}: data_offsets [{}, {}) hold {} bytes, but {} {} "
              "needs {}",
              label, name, begin, end, end - begin, info(view.dtype).fileName,
              shapeText(view.shape), bytes);
  view.offset = dataStart + begin;
  view.data = file.data() + view.offset;
  view.bytes = bytes;
  return view;
}

void SafetensorsFile::readHeader() {
  const std::string &label = file.name();
  if (file.size() < 8)
    userError("{}: has {} bytes, too short for a safetensors file", label,
              file.size());
  uint64_t length;
  std::memcpy(&length, file.data(), 8);
  if (length > uint64_t(maxHeaderBytes) || int64_t(length) > file.size() - 8)
    userError("{}: header length {} at offset 0 does not fit the file of {} "
              "bytes; this is no safetensors file, or it is damaged",
              label, length, file.size());
  dataStart = 8 + int64_t(length);
  json header = parseHeader(label, file.data() + 8, int64_t(length));
  if (!header.is_object())
    userError("{}: header at offset 8 is no JSON object", label);
  for (const auto &[name, entry] : header.items())
    if (name != "__metadata__")
      table.emplace(name, readTensor(file, name, entry, dataStart));
  checkCoverage();
}

/// The names of files and of the tensors that an index puts into them.
static std::map<std::string, std::set<std::string>>
parseIndex(const MappedFile &file) {
  const std::string &label = file.name();
  json index;
  try {
    index = json::parse(file.data(), file.data() + file.size());
  } catch (const json::parse_error &error) {
    userError("{}: index is not JSON at offset {}: {}", label, error.byte,
              printable(error.what()));
  }
  if (!index.is_object() || !index.contains("weight_map") ||
      !index["weight_map"].is_object())
    userError("{}: has no object \"weight_map\" that says which tensor is in "
              "which file",
              label);
  std::map<std::string, std::set<std::string>> files;
  for (const auto &[tensor, value] : index["weight_map"].items()) {
    std::string name = value.is_string() ? value.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos)
      userError("{}: puts tensor {} into {}, expected the name of a file "
                "beside the index",
                label, tensor, value.dump());
    files[name].insert(tensor);
  }
  return files;
}

void SafetensorsFile::readIndex() {
  const std::string &label = file.name();
  size_t slash = label.rfind('/');
  std::string directory =
      slash == std::string::npos ? "" : label.substr(0, slash + 1);
  for (const auto &[name, tensors] : parseIndex(file)) {
    SafetensorsFile shard(MappedFile(directory + name));
    for (const std::string &tensor : tensors)
      if (!shard.find(tensor))
        userError("{}: tensor {} is not in {}, where the index puts it", label,
                  tensor, name);
    for (const auto &[tensor, view] : shard.table)
      if (!tensors.count(tensor))
        userError("{}: holds tensor {}, which {} does not put there",
                  shard.name(), tensor, label);
    addPart(std::move(shard));
  }
  dataStart = file.size();
}

void SafetensorsFile::addPart(SafetensorsFile part) {
  for (auto [name, view] : part.table) {
    view.part = shards.size();
    table.emplace(name, view);
  }
  shards.push_back(std::move(part));
}

void SafetensorsFile::checkCoverage() const {
  std::vector<std::pair<const TensorView *, const std::string *>> order;
  for (const auto &[name, view] : table)
    order.emplace_back(&view, &name);
  std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {
    return std::pair(a.first->offset, a.first->bytes) <
           std::pair(b.first->offset, b.first->bytes);
  });
  int64_t expected = dataStart;
  for (auto [view, name] : order) {
    if (view->offset != expected)
      userError("{}: tensor {} begins at offset {}, expected {}: tensors "
                "overlap or leave a gap",
                file.name(), *name, view->offset, expected);
    expected += view->bytes;
  }
  if (expected != file.size())
    userError("{}: {} bytes follow the last tensor at offset {}", file.name(),
              file.size() - expected, expected);
}

} // namespace p3d
