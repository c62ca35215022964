// What the user sees of each step: the progress line and the log.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/Train/RunOptions.h"
#include "runtime/tools/p3d-run/Build.h"
#include "runtime/tools/p3d-run/Stragglers.h"
#include <cstdio>

namespace p3d {

/// One step of the whole run.
struct StepReport {
  int64_t step = 0;
  double gradNorm = -1; ///< -1 if it was not computed
  double learningRate = 0;
  double lossScale = 0; ///< 0 where the loss is not scaled
  bool skipped = false;
  std::string notFinite; ///< where a skipped step has its first number that is not finite; empty if it was not looked for
  std::vector<std::pair<std::string, double>> results; ///< first: the loss
  std::vector<std::pair<std::string, double>> evaluation; ///< none: was not
  double milliseconds = 0;
  double waiting = 0; ///< share of the step that ranks wait, their mean
  Launches launches;  ///< of the rank with the most kernels
  std::vector<int64_t> memoryBytes; ///< of each stage's rank whose arena takes most
};

/// How long `left` more steps take if they are like the `done` ones, which took `seconds`: "  1:05:40 left"; empty where that is less than ten seconds.
std::string timeLeft(int64_t done, int64_t left, double seconds);

class Progress {
public:
  /// Opens the log (truncated) if `logPath` is not empty.
  /// After `--resume` it keeps the lines of the steps before.
  Progress(const Build &build, const Control &control, const RunOptions &options,
           const std::string &logPath);
  ~Progress();
  Progress(const Progress &) = delete;

  /// Reports every step that all ranks have done.
  void readSteps();
  int64_t stepsReported() const { return last.step; }
  /// Whether ranks have written the gradient of a step.
  bool hasGradient() const { return gradientIsWritten; }
  const StepReport &lastStep() const { return last; }
  const Stragglers &slowRanks() const { return stragglers; }
  /// A line of its own between those of steps.
  void note(const std::string &text);
  /// Ends a progress line, so that a message starts on its own line.
  void endLine();

private:
  void openLog(int64_t firstStep);
  StepReport gather(uint32_t index);
  using Results = std::vector<std::pair<std::string, double>>;
  Results gatherResults(uint32_t index,
                        double (StepRecord::*values)[maxResults]) const;
  void print(const StepReport &report);
  void log(const StepReport &report);

  const Build &build;
  const Control &control;
  const int64_t steps;
  std::string logPath;
  std::FILE *logFile = nullptr;
  bool terminal, lineIsOpen = false, gradientIsWritten = false;
  StepReport last;
  Stragglers stragglers;
  int64_t lastEndNs = 0, firstStartNs = 0, stepsRead = 0;
};

} // namespace p3d
