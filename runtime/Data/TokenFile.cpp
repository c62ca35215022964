// How a token file feeds inputs by their name.
#include "runtime/Data/TokenFile.h"
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include <cstring>

namespace p3d {
namespace {

/// Inputs that hold tokens, by the last part of their name: window x[first :
/// first + s].
struct TokenRule {
  const char *name;
  int64_t first;
};
constexpr TokenRule rules[] = {
    {"tokens", 0}, {"input_ids", 0}, {"targets", 1}, {"labels", 0}};

std::string lastPart(const std::string &name) {
  return name.substr(name.rfind('.') + 1);
}

const TokenRule *findRule(const Input &input) {
  for (const TokenRule &rule : rules)
    if (lastPart(input.name) == rule.name && input.globalShape.size() == 2 &&
        input.batchDim == 0 &&
        (input.dtype == P3D_I32 || input.dtype == P3D_I64 ||
         input.dtype == P3D_UI32))
      return &rule;
  return nullptr;
}

bool isMask(const Input &input) {
  return info(input.dtype).isFloat &&
         lastPart(input.name).find("mask") != std::string::npos;
}

} // namespace

TokenFile::TokenFile(const std::string &path) : file(path) {
  if (file.size() % 4 != 0)
    userError("{}: {} bytes are no whole number of int32 tokens", path,
              file.size());
}

void TokenFile::check(const Program &program) {
  for (const Input &input : program.inputs) {
    const TokenRule *rule = findRule(input);
    if (!rule && !isMask(input))
      userError("{}: a token file cannot fill {} ({}{}); it fills integer "
                "inputs [b, s] called tokens, input_ids, targets or labels, "
                "and float masks; give a safetensors batch instead",
                file.name(), input.name, info(input.dtype).name,
                shapeText(input.globalShape));
    if (!rule)
      continue;
    int64_t needed = input.globalShape[1] + 1;
    if (tokens() < needed)
      userError("{}: has {} tokens, and a window of {} needs {}", file.name(),
                tokens(), input.name, needed);
    if (input.indexLimit > 0) {
      Input stored = input;
      stored.dtype = P3D_I32;
      checkIndices(stored, file.data(), tokens(), 0, file.name());
    }
  }
}

int64_t TokenFile::windowStart(const Program &program, int64_t sequence,
                               int64_t step, int64_t row) const {
  int64_t windows = (tokens() - 1) / sequence;
  int64_t window = ((step - 1) * program.globalBatch + row) % windows;
  return window * sequence;
}

void TokenFile::fill(const Input &input, const Program &program, Coordinates at,
                     int64_t step, char *storage) {
  Layout layout = localLayout(input, program.mesh, at);
  const TokenRule *rule = findRule(input);
  if (!rule) {
    for (int64_t i = 0; i < layout.storageCount(); ++i)
      storeFloat(input.dtype, storage, i, 1);
    return;
  }
  int64_t sequence = input.globalShape[1];
  for (int64_t row = 0; row < layout.extent[0]; ++row) {
    int64_t from =
        windowStart(program, sequence, step, layout.start[0] + row) +
        rule->first;
    for (int64_t i = 0; i < sequence; ++i) {
      int32_t token;
      std::memcpy(&token, file.data() + (from + i) * 4, 4);
      int64_t wide = token;
      int64_t bytes = info(input.dtype).bytes; // little endian: the low part
      std::memcpy(storage + (row * sequence + i) * bytes, &wide, size_t(bytes));
    }
  }
}

} // namespace p3d
