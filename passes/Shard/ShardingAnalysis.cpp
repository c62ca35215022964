#include "passes/Shard/ShardingAnalysis.h"
#include "dialects/Graph/TensorBytes.h"
#include "passes/Shard/FactorCuts.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

int64_t ShardingAnalysis::batchParts() const {
  return options.mesh.getDp() * (hasMicrobatches ? options.mesh.getMb() : 1);
}

/// Bytes of a tensor of `shape` with the elements of `value`.
static int64_t bytesOfShape(ArrayRef<int64_t> shape, Value value) {
  return ShapedType::getNumElements(shape) * graph::elementBytes(tensorType(value));
}

int64_t ShardingAnalysis::bytesOf(Value value) const { return bytesOfShape(tensorType(value).getShape(), value); }

int64_t ShardingAnalysis::bytesHeld(Value value, const Placement &placement) const {
  return bytesOfShape(spell(value, placement, hasMicrobatches).localShape(tensorType(value).getShape(), options.mesh), value);
}

InFlightDiagnostic ShardingAnalysis::error(Operation *op) {
  InFlightDiagnostic diagnostic = op->emitOpError();
  if (quiet)
    diagnostic.abandon();
  return diagnostic;
}

LogicalResult ShardingAnalysis::run(bool beQuiet) {
  quiet = beQuiet;
  graph::ProgramOp program;
  for (auto op : module.getOps<graph::ProgramOp>())
    program = op;
  for (auto [i, argument] : llvm::enumerate(program.getBody().getArguments())) {
    placements[argument] = argumentPlacement(argument);
    auto role = program.getArgAttrOfType<StringAttr>(i, graph::kRoleAttr);
    if (!role || role.getValue() == "input")
      continue;
    double bytes = bytesOf(argument);
    const auto &[major, minor] = placements[argument].tp;
    total.uncutParameters += bytes;
    total.parameters += major.dim < 0 ? bytes : bytes / cutOf(classes.classOf(argument, major.dim), minor.dim >= 0);
  }
  // A result of a backward block that is only summed into a gradient should lie as its parameter does.
  for (auto update : program.getBody().getOps<graph::UpdateOp>()) {
    SmallVector<Value> sums{update.getGradient()};
    while (!sums.empty()) {
      Value value = sums.pop_back_val();
      if (auto add = value.getDefiningOp<graph::AddOp>())
        sums.append({add.getLhs(), add.getRhs()});
      if (auto call = value.getDefiningOp<graph::CallOp>()) {
        auto block = symbols.lookup<graph::BlockOp>(call.getCallee());
        unsigned index = cast<OpResult>(value).getResultNumber();
        gradientTargets[&block.getBody().front().getTerminator()->getOpOperand(index)] = placements[update.getParameter()];
      }
    }
  }
  return runBody(program.getBody(), 1);
}

Placement ShardingAnalysis::argumentPlacement(Value argument) const {
  auto program = cast<graph::ProgramOp>(cast<BlockArgument>(argument).getOwner()->getParentOp());
  auto role = program.getArgAttrOfType<StringAttr>(cast<BlockArgument>(argument).getArgNumber(), graph::kRoleAttr);
  Placement placement;
  bool isInput = role && role.getValue() == "input";
  for (int64_t d = 0; d < tensorType(argument).getRank(); ++d) {
    int cls = classes.classOf(argument, d);
    if (cls == DimClasses::kNone)
      continue;
    if (isInput && cls == classes.batchClass() && batchParts() > 1 && placement.batch.dim < 0)
      placement.batch = Part::cut(d);
    if (!isInput && options.cut[cls] && !classes.isSequence(cls) && !placement.isCutOverTp())
      placement.tp = {Part::cut(d), classes.isSplit(cls) && !classes.isFine(argument, d) ? Part() : Part::cut(d)};
  }
  return placement;
}

LogicalResult ShardingAnalysis::runBody(Region &body, double bodyWeight) {
  double outer = std::exchange(weight, bodyWeight);
  auto restore = llvm::make_scope_exit([&] { weight = outer; });
  for (Operation &op : body.front()) {
    LogicalResult result = success();
    if (auto call = dyn_cast<graph::CallOp>(op))
      result = runCall(call);
    else if (auto yield = dyn_cast<graph::YieldOp>(op))
      result = runYield(yield);
    else if (auto update = dyn_cast<graph::UpdateOp>(op))
      result = runUpdate(update);
    else
      result = runOp(&op);
    if (failed(result))
      return failure();
  }
  return success();
}

/// The factor of `op` that the batch axes cut, or -1.
FailureOr<int> ShardingAnalysis::batchFactor(Operation *op) {
  if (batchParts() == 1 || classes.batchClass() == DimClasses::kNone)
    return -1;
  const graph::FactorRule &rule = classes.ruleOf(op);
  int found = -1;
  for (int f = 0, end = rule.factors.size(); f < end; ++f) {
    if (classes.classOfFactor(op, f) != classes.batchClass())
      continue;
    if (found >= 0)
      return error(op) << "pairs every element of the batch with every other; this needs --microbatches=1 and dp=1";
    found = f;
  }
  if (found < 0)
    return -1;
  if (!rule.factors[found].cuttable || !alwaysFirst(rule, found))
    return error(op) << "works across the batch dimension, which dp=" << options.mesh.getDp() << " and "
                     << options.mesh.getMb() << " microbatches cut; use dp=1 and --microbatches=1, or keep the batch "
                     << "dimension outermost and untouched";
  return found;
}

LogicalResult ShardingAnalysis::runOp(Operation *op) {
  const graph::FactorRule &rule = classes.ruleOf(op);
  FailureOr<int> batch = batchFactor(op);
  if (failed(batch))
    return failure();
  bool spreads = *batch < 0 && spreadsOverBatch(op), passBatch = spreads || (*batch < 0 && passesPartial(op, overBatch, /*cheaper=*/false));
  std::array<Cut, 2> cuts = chooseTpCuts(op);
  for (OpOperand &use : op->getOpOperands()) {
    const graph::TensorFactors &dims = rule.operands[use.getOperandNumber()];
    Placement now = placementOf(use.get()), need;
    for (int i : {0, 1})
      need.tp[i] = {int8_t(dimOf(dims, cuts, i)), cuts[i].passesPartial && now.tp[i].isPartial};
    bool isShared = spreads && llvm::is_contained(graph::getLinearity(op).operands, use.getOperandNumber());
    need.batch = {int8_t(*batch < 0 ? -1 : dimOf(dims, *batch)), passBatch && (now.batch.isPartial || isShared)};
    need.kind = now.kind;
    if (failed(require(use, need)))
      return failure();
  }
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results)) {
    Placement placement;
    for (int i : {0, 1}) {
      int dim = dimOf(dims, cuts, i);
      placement.tp[i] = {int8_t(dim), cuts[i].passesPartial || (cuts[i].factor >= 0 && dim < 0)};
    }
    int batchDim = *batch < 0 ? -1 : dimOf(dims, *batch);
    placement.batch = {int8_t(batchDim), passBatch || (*batch >= 0 && batchDim < 0)};
    if (cuts[0].factor >= 0 && placement.tp[0].isPartial)
      placement.kind = rule.factors[cuts[0].factor].reduce;
    else if (cuts[1].factor >= 0 && placement.tp[1].isPartial)
      placement.kind = rule.factors[cuts[1].factor].reduce;
    else if (*batch >= 0 && placement.batch.isPartial)
      placement.kind = rule.factors[*batch].reduce;
    placements[result] = placement;
  }
  addWork(op, cuts);
  return success();
}

LogicalResult ShardingAnalysis::require(OpOperand &use, Placement to) {
  const Placement from = placementOf(use.get());
  if (from == to)
    return success();
  Operation *op = use.getOwner();
  if (from.batch.isPartial && !to.batch.isPartial && sumsMicrobatches()) {
    InFlightDiagnostic diagnostic = error(op);
    diagnostic << "needs a sum over the whole batch that is complete only after the last of " << options.mesh.getMb()
               << " microbatches, since it is not linear in it; use --microbatches=1, or make the loss a sum over the "
                  "batch divided by something that does not depend on parameters";
    if (!quiet && use.get().getDefiningOp())
      diagnostic.attachNote(use.get().getLoc()) << "the sum";
    return failure();
  }
  if (from.batch.dim >= 0 && to.batch.dim != from.batch.dim)
    return error(op) << "needs the whole batch of a value that dp=" << options.mesh.getDp() << " and "
                     << options.mesh.getMb() << " microbatches cut; use dp=1 and --microbatches=1";
  auto code = [](const Part &part) { return part.isPartial ? 0 : part.dim + 2; };
  int key = (code(to.tp[0]) * 64 + code(to.tp[1])) * 64 + code(to.batch);
  if (moved.insert({use.get(), key}).second)
    addMove(use.get(), from, to, weight * moveFactor(use.get()));
  moveOf[&use] = to;
  allMoves.push_back({&use, from, to});
  return success();
}

LogicalResult ShardingAnalysis::runCall(graph::CallOp call) {
  auto block = symbols.lookup<graph::BlockOp>(call.getCallee());
  Region &body = block.getBody();
  bool isPrologue = block->hasAttr(kPrologueAttr);
  if (doneBlocks.insert(block).second) {
    for (auto [operand, argument] : llvm::zip(call.getInputs(), body.getArguments())) {
      placements[argument] = complete(placementOf(operand));
      placements[argument].batch.isPartial = sumsMicrobatches() && placementOf(operand).batch.isPartial;
      if (isa<BlockArgument>(operand) && placements[argument].batch.dim < 0)
        parameterArguments.insert(argument);
      if (isPrologue && options.mesh.getDp() == 1)
        placements[argument].batch = {};
    }
    double calls = llvm::count_if(call->getBlock()->getOps<graph::CallOp>(),
                                  [&](graph::CallOp other) { return other.getCallee() == call.getCallee(); });
    bool outer = std::exchange(hasMicrobatches, !isPrologue);
    LogicalResult result = runBody(body, calls);
    hasMicrobatches = outer;
    if (failed(result))
      return failure();
  }
  // The prologue reads the whole batch of the replica, which is how inputs are stored.
  for (auto [use, argument] : llvm::zip(call->getOpOperands(), body.getArguments()))
    if (!isPrologue && failed(require(use, placementOf(argument))))
      return failure();
  Operation *yield = body.front().getTerminator();
  for (auto [result, use] : llvm::zip(call.getOutputs(), yield->getOpOperands())) {
    auto move = moveOf.find(&use);
    Placement placement = move == moveOf.end() ? placementOf(use.get()) : move->second;
    placements[result] = placement;
  }
  return success();
}

LogicalResult ShardingAnalysis::runYield(graph::YieldOp yield) {
  Operation *parent = yield->getParentOp();
  bool isPrologue = parent->hasAttr(kPrologueAttr);
  for (OpOperand &use : yield->getOpOperands()) {
    Placement now = placementOf(use.get()), target = now;
    auto gradient = gradientTargets.find(&use);
    bool mayStayPartial = gradient != gradientTargets.end() || isa<graph::ProgramOp>(parent);
    for (int i : {0, 1}) {
      if (gradient != gradientTargets.end())
        target.tp[i].dim = gradient->second.tp[i].dim;
      target.tp[i].isPartial = now.tp[i].isPartial && target.tp[i].dim < 0 && mayStayPartial;
      if (now.tp[i].isPartial && !target.tp[i].isPartial && target.tp[i].dim < 0 && now.tp[0] == now.tp[1])
        target.tp[i].dim = sequenceDim(use.get());
    }
    if (isPrologue)
      target.batch.isPartial = false;
    // What is returned is what the parameter is updated with: also where it is zero, and lies like nothing else.
    auto update = updateTargets.find(use.get());
    if (isa<graph::ProgramOp>(parent) && update != updateTargets.end())
      target = update->second;
    // What the microbatches add to a gradient is summed, also where it is the same for all.
    if (gradient != gradientTargets.end() && sumsMicrobatches() && now.batch.dim < 0)
      target.batch.isPartial = true;
    if (target.isPartialOverTp())
      addMove(use.get(), now, complete(now), 1);
    if (failed(require(use, target)))
      return failure();
  }
  return success();
}

LogicalResult ShardingAnalysis::runUpdate(graph::UpdateOp update) {
  Placement target = placementOf(update.getGradient());
  for (int i : {0, 1}) {
    int8_t dim = placementOf(update.getParameter()).tp[i].dim;
    target.tp[i] = {dim, target.tp[i].isPartial && dim < 0};
  }
  target.batch.isPartial |= sumsMicrobatches() && target.batch.dim < 0;
  updateTargets[update.getGradient()] = target;
  return require(update.getGradientMutable(), target);
}

dist::ShardingAttr ShardingAnalysis::spell(Value value, const Placement &placement, bool withMicrobatches) const {
  RankedTensorType type = tensorType(value);
  SmallVector<dist::DimSharding> dims(type.getRank());
  SmallVector<dist::Axis, 2> batchAxes;
  SmallVector<dist::Axis> unreduced;
  if (options.mesh.getDp() > 1)
    batchAxes.push_back(dist::Axis::DP);
  if (withMicrobatches && options.mesh.getMb() > 1)
    batchAxes.push_back(dist::Axis::MB);
  const auto &[major, minor] = placement.tp;
  if (major.dim >= 0) {
    int cls = classes.classOf(value, major.dim);
    int64_t size = type.getDimSize(major.dim), tp = options.mesh.getTp();
    if (minor.dim < 0)
      dims[major.dim] = {{dist::Axis::TPMajor}, size / ranksOf(false)};
    else
      dims[major.dim] = {{dist::Axis::TP}, classes.isSplit(cls) ? size / tp : classes.chunk(cls, size, tp)};
  }
  if (placement.batch.dim >= 0 && !batchAxes.empty()) {
    int64_t parts = options.mesh.getDp() * (withMicrobatches ? options.mesh.getMb() : 1);
    dims[placement.batch.dim] = {batchAxes, type.getDimSize(placement.batch.dim) / parts};
  }
  if (major.isPartial && minor.isPartial)
    unreduced.push_back(dist::Axis::TP);
  else if (placement.isPartialOverTp())
    unreduced.push_back(major.isPartial ? dist::Axis::TPMajor : dist::Axis::TPMinor);
  if (placement.batch.isPartial)
    unreduced.append(batchAxes);
  return dist::ShardingAttr::get(value.getContext(), dims, unreduced, dist::ReduceKind(uint32_t(placement.kind)));
}
