// p3d-run --verify: one step without an update, everything that it read and
// computed in files, and the judgement of p3dc-verify on them.
#pragma once
#include "runtime/tools/p3d-run/Flags.h"
#include "runtime/tools/p3d-run/OutputFile.h"
#include "runtime/tools/p3d-run/Progress.h"

namespace p3d {

class Verification {
public:
  /// Makes a directory for the files, sets `options` to one step without an
  /// update that fills them, and writes the inputs of that step. A user error
  /// if `build` was compiled without what it is to be compared with.
  Verification(const Build &build, RunOptions &options);
  /// Removes the files unless they are to stay.
  ~Verification();
  Verification(const Verification &) = delete;

  /// The files that the ranks fill.
  std::vector<int> fds() const;
  /// Compares after the step; an internal error, which leaves the files, if the
  /// programs do not compute the model.
  void judge(const StepReport &step);

private:
  std::unique_ptr<OutputFile> makeFile(const char *name,
                                       const std::vector<TensorSpec> &tensors);
  void writeInputs();
  std::vector<std::string> judgeCommand(const StepReport &step) const;

  const Build &build;
  const RunOptions &options;
  std::string directory;
  bool keep = false;
  std::unique_ptr<OutputFile> parameters, gradients, values, inputs;
};

} // namespace p3d
