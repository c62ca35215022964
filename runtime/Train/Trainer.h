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
  void fillInputs(int64_t step);
  bool isForward(const OrderEntry &entry) const;
  void runTask(const OrderEntry &entry);
  void runOrder();
  void dumpGradients();
  void dumpValues(const OrderEntry &entry);
  void runStep(int64_t step);
  void update(int64_t step, StepRecord &record);
  void readResults(StepRecord &record);
  void publish(const StepRecord &record);
  void saveCheckpoint(int64_t step);
  void exportWeights();

  p3d_context &context;
  const Program &program;
  const RunOptions &options;
  const p3d_task *tasks;
  std::unique_ptr<BatchSource> batches;
  CheckpointWriter checkpoints;
};

} // namespace p3d
