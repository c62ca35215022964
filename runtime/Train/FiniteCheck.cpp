#include "runtime/Train/FiniteCheck.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Context.h"
#include "runtime/DType.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Parameters.h"
#include <cmath>

namespace p3d {

static bool isMasking(double value) { return std::isinf(value) && value < 0; }

/// The first element that is not finite, one that is no mask's if there is one; -1 if there is none.
static int64_t findNotFinite(p3d_dtype dtype, const char *data, int64_t count) {
  int64_t masking = -1;
  for (int64_t i = 0; i < count; ++i) {
    double value = loadFloat(dtype, data, i);
    if (std::isfinite(value))
      continue;
    if (!isMasking(value))
      return i;
    if (masking < 0)
      masking = i;
  }
  return masking;
}

void FiniteCheck::read(p3d_dtype dtype, int64_t offset, int64_t count, const std::string &what) {
  if (!info(dtype).isFloat || (found.isFound && !found.isMasking))
    return;
  context.device.read({{offset, count * info(dtype).bytes}}, [&](const HostRanges &host) {
    int64_t at = findNotFinite(dtype, host[0], count);
    if (at < 0)
      return;
    double value = loadFloat(dtype, host[0], at);
    if (found.isFound && isMasking(value))
      return;
    found.isFound = 1;
    found.isMasking = isMasking(value);
    found.ns = monotonicNs();
    setText(found.text, fmt::format("{}: element {} of {} is {}", what, at, count, value));
  });
}

void FiniteCheck::readInputs() {
  for (const Param &param : context.program.params)
    if (isStored(param))
      read(param.dtype, param.offset, valuesLayout(param, context.program.mesh, context.at).storageCount(), "the parameter " + param.name);
  for (const Input &input : context.program.inputs)
    read(input.dtype, input.offset, localLayout(input, context.program.mesh, context.at).storageCount(), "the input " + input.name);
}

void FiniteCheck::read(int32_t operation, p3d_dtype dtype, const void *data, int64_t count) {
  const std::vector<std::string> &names = context.program.operations;
  std::string of = call >= 0 && size_t(call) < names.size() ? names[size_t(call)] + ": " : "";
  read(dtype, static_cast<const char *>(data) - context.device.arena(), count,
       fmt::format("{} of microbatch {}, {}{}", context.area().task, context.area().mb.load(), of, names.at(size_t(operation))));
}

} // namespace p3d
