// The life of a rank after start-up: parameters, steps, results.
#pragma once
#include "runtime/Context.h"
#include "runtime/Data/Batch.h"
#include "runtime/Train/Checkpoint.h"
#include "runtime/Train/RunOptions.h"

namespace p3d {

class Trainer {
public:
  /// `tasks` are those of the program.
  Trainer(p3d_context &context, const RunOptions &options,
          const p3d_task *tasks);
  /// All steps, then the export.
  void run();

private:
  void loadParameters();
  void fillInputs(BatchSource &source, int64_t number, int64_t step);
  bool isKind(const OrderEntry &entry, const char *kind) const;
  bool isForward(const OrderEntry &entry) const { return isKind(entry, "forward"); }
  void runTask(const OrderEntry &entry);
  void runOrder();
  void evaluate(int64_t step, StepRecord &record);
  void computeGradient(int64_t step);
  void measureGradient(StepRecord &record);
  void findNotFinite(int64_t step, StepRecord &record);
  void dumpGradients();
  void dumpValues(const OrderEntry &entry);
  void runStep(int64_t step);
  void update(int64_t step, StepRecord &record);
  double currentLossScale() const { return options.scalesLoss ? lossScale.value : 1; }
  void readResults(double (&results)[maxResults]);
  void publish(const StepRecord &record);
  void saveCheckpoint(int64_t step);
  void exportWeights();

  p3d_context &context;
  const Program &program;
  const RunOptions &options;
  const p3d_task *tasks;
  std::unique_ptr<BatchSource> batches, evaluationBatches;
  CheckpointWriter checkpoints;
  Trace trace;
  int64_t updates;
  LossScale lossScale;
  bool gradientsAreDumped = false, wasSkipped = false;
};

} // namespace p3d
