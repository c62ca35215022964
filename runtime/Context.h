// One rank at run time: what the services find behind p3d_context.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/Comm/Transport.h"
#include "runtime/Program/Program.h"
#include "runtime/Train/Device.h"
#include "runtime/Train/FiniteCheck.h"
#include "runtime/Train/Trace.h"

struct p3d_context {
  const p3d::Program &program;
  int rank;
  p3d::Coordinates at;
  const p3d::Control &control;
  p3d::Device &device;
  p3d::Transport &transport;
  p3d::Trace *trace = nullptr; ///< none: nothing is traced
  p3d::FiniteCheck *check = nullptr; ///< none: nothing is checked

  p3d::RankArea &area() { return control.rank(rank); }
  /// Publishes what this rank does now, for the reports of others.
  void enterTask(const std::string &task, int64_t mb);
  void enterOperation(int32_t operation);
  void enterOperation(const std::string &operation);
  /// Reports `text` as the failure of this run and ends the process; used
  /// where no exception may pass, that is below emitted code.
  [[noreturn]] void fail(p3d::ExitCode code, const std::string &text);
};
