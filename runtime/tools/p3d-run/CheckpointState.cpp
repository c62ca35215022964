#define XXH_INLINE_ALL
#include "runtime/tools/p3d-run/CheckpointState.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Data/WholeFile.h"
#include "runtime/Error.h"
#include "runtime/Train/Checkpoint.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

using nlohmann::json;

namespace p3d {
namespace {

constexpr int kVersion = 1;

std::string checksum(std::string_view bytes) { return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size())); }

std::string_view bytesOf(const TensorView &view) { return {view.data, size_t(view.bytes)}; }

std::string nameOf(const SafetensorsFile &file) { return file.name().substr(file.name().rfind('/') + 1); }

/// Adds the checksums of `file`, and of the parts that it names as an index, to `files`. Returns their bytes.
int64_t describe(const SafetensorsFile &file, json &files) {
  json tensors = json::object();
  if (file.parts().empty())
    for (const auto &[name, view] : file.tensors())
      tensors[name] = checksum(bytesOf(view));
  files[nameOf(file)] = {{"header", checksum(file.header())}, {"tensors", tensors}};
  int64_t bytes = file.bytes();
  for (const SafetensorsFile &part : file.parts())
    bytes += describe(part, files);
  return bytes;
}

/// The text that "checksum" is of.
std::string signedText(json object) {
  object.erase("checksum");
  return object.dump();
}

void syncFile(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  bool isDone = fd >= 0 && fsync(fd) == 0;
  int failed = errno;
  if (fd >= 0)
    close(fd);
  if (!isDone)
    userError("{}: cannot be written: {}", path, std::strerror(failed));
}

/// state.json, read.
class StateFile {
public:
  explicit StateFile(const std::string &directory) : directory(directory), path(directory + "/state.json") {
    MappedFile file(path);
    try {
      object = json::parse(file.data(), file.data() + file.size());
    } catch (const json::parse_error &error) {
      userError("{}: is not JSON at offset {}; the checkpoint is damaged", path, error.byte);
    }
    std::string sum = checksum(signedText(object));
    if (text("checksum") != sum)
      userError("{}: field \"checksum\" is {}, of the other fields it is {}; the file was changed or is damaged", path, text("checksum"), sum);
    if (number("version") != kVersion)
      userError("{}: field \"version\" is {}, expected {}; another p3d-run wrote it", path, number("version"), kVersion);
  }

  const json &field(const json &in, const char *name, bool (json::*is)() const noexcept, const char *expected) const {
    if (!in.is_object() || !in.contains(name) || !(in[name].*is)())
      userError("{}: field \"{}\" is missing or no {}; the checkpoint is damaged", path, name, expected);
    return in[name];
  }
  std::string text(const char *name) const { return field(object, name, &json::is_string, "text"); }
  bool has(const char *name) const { return object.contains(name); }
  int64_t number(const char *name) const { return field(object, name, &json::is_number_integer, "whole number").get<int64_t>(); }
  double real(const char *name) const { return field(object, name, &json::is_number, "number").get<double>(); }

  void checkFiles() const {
    const json &files = field(object, "files", &json::is_object, "object");
    for (const CheckpointFile &file : checkpointFiles())
      checkFile(SafetensorsFile(directory + "/" + file.name), files);
  }

private:
  /// Of an index its own bytes, and its parts.
  void checkFile(const SafetensorsFile &file, const json &files) const {
    const json &entry = field(files, nameOf(file).c_str(), &json::is_object, "object");
    std::string header = checksum(file.header()), said = field(entry, "header", &json::is_string, "text");
    if (header != said)
      userError("{}: the {}, bytes 0 to {}, has the checksum {}, state.json says {}; the checkpoint is damaged", file.name(),
                file.parts().empty() ? "header" : "index", file.header().size(), header, said);
    if (file.parts().empty())
      checkTensors(file, field(entry, "tensors", &json::is_object, "object"));
    for (const SafetensorsFile &part : file.parts())
      checkFile(part, files);
  }

  void checkTensors(const SafetensorsFile &file, const json &tensors) const {
    for (const auto &[tensor, view] : file.tensors()) {
      std::string sum = checksum(bytesOf(view));
      if (std::string said = field(tensors, tensor.c_str(), &json::is_string, "text"); sum != said)
        userError("{}: tensor {}, bytes {} to {}, has the checksum {}, state.json says {}; the checkpoint is damaged", file.name(), tensor, view.offset,
                  view.offset + view.bytes, sum, said);
    }
  }

  std::string directory, path;
  json object;
};

bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

} // namespace

int64_t completeCheckpoint(const std::string &directory, const CheckpointState &state) {
  json files = json::object();
  int64_t bytes = 0;
  for (const CheckpointFile &part : checkpointFiles()) {
    SafetensorsFile file(directory + "/" + part.name);
    bytes += describe(file, files);
  }
  for (const auto &[name, sums] : files.items())
    syncFile(directory + "/" + name);
  json object = {{"version", kVersion}, {"step", state.step},           {"tokens", state.tokens},
                 {"seed", state.seed},  {"model", state.model},         {"optimizer", state.optimizer},
                 {"data", state.data},  {"data_bytes", state.dataBytes}, {"files", files}};
  object["updates"] = state.updates;
  if (state.lossScale > 0) {
    object["loss_scale"] = state.lossScale;
    object["loss_scale_good_steps"] = state.goodSteps;
  }
  object["checksum"] = checksum(signedText(object));
  writeWhole(directory + "/state.json", object.dump(1) + "\n");
  return bytes;
}

CheckpointState checkCheckpoint(const std::string &directory) {
  StateFile file(directory);
  CheckpointState state;
  state.step = file.number("step");
  state.tokens = file.number("tokens");
  state.seed = uint64_t(file.number("seed"));
  state.updates = file.has("updates") ? file.number("updates") : state.step;
  if (file.has("loss_scale")) {
    state.lossScale = file.real("loss_scale");
    state.goodSteps = file.number("loss_scale_good_steps");
  }
  state.model = file.text("model");
  state.optimizer = file.text("optimizer");
  state.data = file.text("data");
  state.dataBytes = file.number("data_bytes");
  file.checkFiles();
  return state;
}

std::string findCheckpoint(const std::string &path) {
  if (exists(path + "/state.json"))
    return path;
  if (!exists(path + "/latest"))
    userError("--resume={}: holds neither state.json nor latest; expected a directory that --save made, or a step_<N> of one", path);
  MappedFile file(path + "/latest");
  std::string name(file.data(), size_t(file.size()));
  while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())))
    name.pop_back();
  if (name.empty() || name.find('/') != std::string::npos || !exists(path + "/" + name + "/state.json"))
    userError("{}/latest: names \"{}\", which is no checkpoint in this directory; name one with --resume={}/step_<N>", path, name, path);
  return path + "/" + name;
}

} // namespace p3d
