// Placement: calls by the cut of the layers, other operations beside the calls that they serve.
#include "passes/Stage/StagePlan.h"
#include "passes/Stage/LayerCut.h"
#include "passes/Support/Flops.h"
#include <algorithm>

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

FailureOr<StagePlan> StagePlan::make(const TrainingStep &step, PipelineShape shape, StringRef counts) {
  auto [stages, chunks, placement] = shape;
  auto units = collectUnits(step, stages * chunks);
  if (failed(units))
    return failure();
  SmallVector<int64_t> costs;
  for (const Unit &unit : *units)
    costs.push_back(unit.cost);
  LayerCut cut = SmallVector<int64_t>{0};
  if (!units->empty() || stages * chunks > 1 || counts != "auto")
    cut = counts == "auto" ? cutLayers(costs, stages, chunks) : parseLayerCounts(counts, costs.size(), stages, chunks);
  if (auto *message = std::get_if<std::string>(&cut))
    return step.getProgram().emitError() << *message;
  StagePlan plan(shape);
  plan.placeCalls(step, *units, std::get<SmallVector<int64_t>>(cut));
  plan.placeForward(step);
  plan.placeBackward(step);
  if (failed(plan.checkFlow(step)))
    return failure();
  return plan;
}

FailureOr<SmallVector<StagePlan::Unit>> StagePlan::collectUnits(const TrainingStep &step, int64_t parts) {
  // With fewer layers than parts what stands before and after them may be a part of its own.
  bool layered = llvm::count_if(step.forwardCalls, [](CallOp call) { return call.getLayer().has_value(); }) >= parts &&
                 llvm::any_of(step.forwardCalls, [](CallOp call) { return call.getLayer().has_value(); });
  SmallVector<Unit> units;
  SmallVector<CallOp> before;
  DenseMap<Operation *, size_t> unitOf;
  for (CallOp call : step.forwardCalls) {
    int64_t layer = call.getLayer().value_or(-1);
    int64_t last = units.empty() ? -1 : units.back().layer;
    if (layer >= 0 && layer < last)
      return call.emitOpError() << "is layer " << layer << " but stands after layer " << last
                                << "; layers are numbered in the order of the program";
    bool opens = layered ? layer > last : true;
    if (opens)
      units.push_back({layer, 0, {}});
    if (units.empty()) {
      before.push_back(call);
      continue;
    }
    units.back().calls.push_back(call);
    units.back().cost += countFlops(call).total();
    unitOf[call] = units.size() - 1;
  }
  for (CallOp call : before) {
    units.front().calls.push_back(call);
    units.front().cost += countFlops(call).total();
    unitOf[call] = 0;
  }
  for (CallOp call : step.getBody().getOps<CallOp>())
    if (CallOp forward = step.forwardOf(call))
      units[unitOf.lookup(forward)].cost += countFlops(call).total();
  return units;
}

void StagePlan::placeCalls(const TrainingStep &step, ArrayRef<Unit> units, ArrayRef<int64_t> counts) {
  size_t next = 0;
  for (auto [part, count] : llvm::enumerate(counts)) {
    std::pair<int64_t, int64_t> range{0, -1};
    for (const Unit &unit : units.slice(next, count)) {
      if (unit.layer >= 0)
        range = {range.second < 0 ? unit.layer : range.first, unit.layer};
      for (CallOp call : unit.calls)
        parts[call] = part;
    }
    layers.push_back(range);
    next += count;
  }
  for (CallOp call : step.getBody().getOps<CallOp>())
    if (CallOp forward = step.forwardOf(call))
      parts[call] = parts.lookup(forward);
}

void StagePlan::placeForward(const TrainingStep &step) {
  // Behind its operands; what needs none (an embedding outside the blocks) where it is first used.
  SmallVector<Operation *> open;
  for (Operation &op : step.getBody()) {
    if (step.phaseOf(&op) != Phase::Forward || parts.contains(&op))
      continue;
    int64_t part = -1;
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp(); def && parts.contains(def))
        part = std::max(part, parts.lookup(def));
    if (part >= 0)
      parts[&op] = part;
    else
      open.push_back(&op);
  }
  for (Operation *op : llvm::reverse(open)) {
    int64_t part = numParts() - 1;
    for (Operation *user : op->getUsers())
      if (step.phaseOf(user) == Phase::Forward)
        part = std::min(part, parts.lookup(user));
    parts[op] = part;
  }
}

void StagePlan::placeBackward(const TrainingStep &step) {
  for (Operation &op : step.getBody()) {
    if (!isGradient(step.phaseOf(&op)) || parts.contains(&op) || step.isGradientSum(&op))
      continue;
    // Where the last of the gradients that it needs arises, so that a sum is sent on, not its summands; the first
    // gradient of all, where the loss is.
    int64_t earliestGradient = numParts(), latestValue = -1;
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp(); def && parts.contains(def)) {
        if (isGradient(step.phaseOf(def)))
          earliestGradient = std::min(earliestGradient, parts.lookup(def));
        else
          latestValue = std::max(latestValue, parts.lookup(def));
      }
    if (earliestGradient < numParts())
      parts[&op] = earliestGradient;
    else
      parts[&op] = latestValue >= 0 ? latestValue : numParts() - 1;
  }
}

/// "stage 1", with chunks "stage 1, chunk 0".
std::string StagePlan::nameOf(int64_t part) const {
  auto [stage, chunk] = placeOf(part);
  std::string text = "stage " + std::to_string(stage);
  return shape.chunks > 1 ? text + ", chunk " + std::to_string(chunk) : text;
}

LogicalResult StagePlan::checkFlow(const TrainingStep &step) const {
  for (Operation &op : step.getBody()) {
    Phase phase = step.phaseOf(&op);
    if ((phase != Phase::Forward && !isGradient(phase)) || step.isGradientSum(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || step.isGradientSum(def) || (step.phaseOf(def) == Phase::Forward ? phase != Phase::Forward : !isGradient(step.phaseOf(def))))
        continue;
      int64_t from = partOf(def), to = partOf(&op);
      if (phase == Phase::Forward ? from <= to : from >= to)
        continue;
      auto error = op.emitOpError() << "in " << nameOf(to) << " needs a value of " << nameOf(from) << " in the same "
                                    << (phase == Phase::Forward ? "forward" : "backward")
                                    << " pass; cut elsewhere with the option stages";
      error.attachNote(def->getLoc()) << "the value comes from here";
      return error;
    }
  }
  return success();
}
