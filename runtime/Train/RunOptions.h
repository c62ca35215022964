// The options of a run, from the launcher to every rank.
#pragma once
#include "runtime/Data/Batch.h"
#include "runtime/Program/Program.h"
#include "runtime/Train/LossScale.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace p3d {

enum class LearningRateSchedule { Constant, Cosine, Linear, Wsd };

/// A file that a checkpoint gets.
struct SavedFile {
  std::string name;
  size_t of = 0;     ///< checkpointFiles(): it, or a part of it
  int layoutFd = -1; ///< the file's header, and room that nobody fills
};

struct RunOptions {
  int64_t steps = 0;     ///< the number of the last one
  int64_t firstStep = 1; ///< above 1 after what is stored
  int64_t updates = 0;   ///< before the first step; skipped ones have none
  std::string params, data;
  std::map<std::string, Init> init; ///< of parameters, in place of the program's
  DataOptions dataOptions;
  std::string evalData;    ///< read in its order, or empty
  int64_t evalEvery = 0;   ///< steps; 0: after the last one only
  int64_t evalBatches = 0; ///< of one evaluation: all of the file
  std::string optimizerState; ///< file of its states, or empty
  std::string saveDirectory;  ///< of checkpoints, or empty
  int64_t saveEvery = 0;      ///< steps; 0: after the last one only
  int64_t shardBytes = int64_t(5) << 30; ///< of a checkpoint's file
  double learningRate = 1e-3, minLearningRate = 0;
  LearningRateSchedule schedule = LearningRateSchedule::Constant;
  int64_t warmup = 0;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weightDecay = 0.1, momentum = 0;
  double clip = 1; ///< 0: no clipping, and no norm unless the loss is scaled
  bool scalesLoss = false; ///< the program computes in f16
  LossScale lossScale;     ///< of the first step
  bool repeatsOverflows = false; ///< a step whose gradient is not finite, at half the scale
  uint64_t seed = 0;
  bool cudaGraph = false; ///< replay a step as one graph
  bool deterministic = false; ///< only sums whose order is the same on every run
  int threads = 1; ///< of each rank's kernels, on a CPU
  double timeoutSeconds = 600;
  int exportFd = -1, gradientsFd = -1, valuesFd = -1; ///< files to fill, or -1
  std::vector<SavedFile> savedFiles; ///< by SavedFile::of
  std::vector<int> traceFds;      ///< of each rank, or none

  /// Whether an evaluation comes after `step`.
  bool evaluatesAfter(int64_t step) const {
    return !evalData.empty() &&
           (step == steps || (evalEvery > 0 && step % evalEvery == 0));
  }
  /// Whether a checkpoint of the state after `step` is wanted.
  bool savesAfter(int64_t step) const {
    return !saveDirectory.empty() &&
           (step == steps || (saveEvery > 0 && step % saveEvery == 0));
  }

  std::string toJson() const;
  static RunOptions fromJson(const std::string &text);
};

/// "constant", "cosine", "linear" or "wsd"; false if it is none of them.
bool parseSchedule(const std::string &name, LearningRateSchedule &schedule);
const char *scheduleName(LearningRateSchedule schedule);

/// The learning rate of `step` (from 1). It rises linearly over the warm-up
/// steps, then: stays (constant); falls to the minimum at the last step along
/// half a cosine or a line; or stays and falls along a line over the last fifth
/// of the run (wsd: warm-up, stable, decay).
double learningRateAt(const RunOptions &options, int64_t step);

} // namespace p3d
