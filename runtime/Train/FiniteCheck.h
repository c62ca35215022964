// Where numbers that are not finite come from: a step whose gradient has some is computed again, and what each command makes is read.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/Train/Device.h"
#include <string>

namespace p3d {

class FiniteCheck {
public:
  explicit FiniteCheck(p3d_context &context) : context(context) {}

  /// Before the first task: parameters and inputs.
  void readInputs();
  /// What commands are part of from here on; a number in the program's operations.
  void enterCall(int32_t operation) { call = operation; }
  /// `count` elements in the arena, as `operation` has made them.
  void read(int32_t operation, p3d_dtype dtype, const void *data, int64_t count);

  /// The first that this rank came upon; not `isFound` if there was none. A negative infinity, as masks have, stands for none where there is another.
  const NotFinite &first() const { return found; }

private:
  void read(p3d_dtype dtype, int64_t offset, int64_t count, const std::string &what);

  p3d_context &context;
  int32_t call = -1;
  NotFinite found{};
};

} // namespace p3d
