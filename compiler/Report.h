// --report: does the plan fit, what does each stage's device hold, how long does a step take, where is it idle, and
// what would change that.
//
// As JSON: the fields of manifest.json, and
// - `cluster` {name, nodes, devices_per_node}, `device_memory` (bytes; null without a limit), `fits` (null likewise);
// - `tokens_per_second`, `transfer_us`, `norm_us`;
// - `stages`, for each: `stage`, `layers`, `parameters` (numbers of one rank), `state_bytes` (parameters, gradients and
//   optimizer), `activations_bytes`, `total_bytes`, `holders` (the biggest, {what, bytes}), and in microseconds
//   `forward_us`, `backward_us`, `weight_gradient_us` (of one microbatch), `idle_us`, `prologue_us`, `synchronize_us`,
//   `update_us`, `message_us` (of all collectives in a step);
// - `bytes_by_axis`: what one rank of the stage that sends most sends in a step, by axis;
// - `alternatives`: plans that are faster or smaller: `flags`, `step_time_us`, `memory_bytes` (of the fullest stage).
#pragma once

#include "compiler/Replan.h"
#include "compiler/StepSimulation.h"

namespace p3d {

/// What the report says of one stage beside its memory.
struct StageReport {
  std::vector<int64_t> layers; ///< the first and the last of each chunk
  int64_t parameters = 0; ///< numbers of one rank
  double idle = 0;        ///< seconds in which it waits for other stages
};

/// What one rank sends over an axis in a step, at the stage where it takes longest.
struct AxisTraffic {
  int64_t count = 0, bytes = 0;
  double seconds = 0;
};

struct Report {
  llvm::json::Object manifest;
  std::vector<StageMemory> memory;
  std::vector<StageReport> stages;
  TimedStep step;
  std::map<std::string, AxisTraffic> axes;
  std::vector<Alternative> alternatives;
  int64_t deviceMemory = 0; ///< 0 without a limit

  bool fits() const { return deviceMemory == 0 || memory[fullestStage(memory)].total <= deviceMemory; }
};

/// Of a scheduled module; `inputs` has its memory.
Report makeReport(mlir::ModuleOp scheduled, const ManifestInputs &inputs);

llvm::json::Object toJson(const Report &report, const Cluster &cluster);
void printText(const Report &report, const Cluster &cluster, llvm::raw_ostream &os);

} // namespace p3d
