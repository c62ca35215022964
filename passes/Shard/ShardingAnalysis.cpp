#include "passes/Shard/ShardingAnalysis.h"
#include "dialects/Graph/EinsumSpec.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

namespace {
/// Position of the dimension that starts with `factor`, or -1.
int dimOf(const graph::TensorFactors &dims, int factor) {
  for (auto [d, factors] : llvm::enumerate(dims))
    if (!factors.empty() && factors.front() == factor)
      return d;
  return -1;
}

bool contains(const graph::TensorFactors &dims, int factor) {
  return llvm::any_of(dims, [&](const graph::DimFactors &dim) { return llvm::is_contained(dim, factor); });
}

/// Whether `factor` starts each dimension that it is part of, so that cutting it cuts whole dimensions.
bool alwaysFirst(const graph::FactorRule &rule, int factor) {
  auto isFirst = [&](const graph::TensorFactors &dims) { return !contains(dims, factor) || dimOf(dims, factor) >= 0; };
  return llvm::all_of(rule.operands, isFirst) && llvm::all_of(rule.results, isFirst);
}

/// How much dearer it is to move a weight than an activation of the same size: weights stay where they are stored, however many rows a batch has.
constexpr double kMovedWeightFactor = 1e4;

Placement complete(Placement placement) {
  placement.tpPartial = placement.batchPartial = false;
  return placement;
}

/// Operations that are cheaper to apply to partial sums than to communicate for.
bool isCheapOnPartialSums(Operation *op) {
  return isa<graph::AddOp, graph::SubOp, graph::NegOp, graph::ConstrainOp, graph::ConvertOp, graph::ReshapeOp, graph::TransposeOp, graph::MulOp,
             graph::DivOp, graph::ReduceOp>(op);
}

double contractionFlops(Operation *op) {
  auto product = [](ArrayRef<int64_t> shape) {
    double all = 1;
    for (int64_t size : shape)
      all *= size;
    return all;
  };
  if (auto einsum = dyn_cast<graph::EinsumOp>(op)) {
    graph::EinsumSpec spec = *graph::EinsumSpec::parse(einsum.getSpec());
    llvm::DenseMap<char, double> sizes;
    for (auto [letter, size] : llvm::zip(spec.lhs, einsum.getLhs().getType().getShape()))
      sizes[letter] = size;
    for (auto [letter, size] : llvm::zip(spec.rhs, einsum.getRhs().getType().getShape()))
      sizes[letter] = size;
    double all = 2;
    for (auto &[letter, size] : sizes)
      all *= size;
    return all;
  }
  if (auto attention = dyn_cast<graph::AttentionOp>(op))
    return 4 * product(attention.getQuery().getType().getShape()) * attention.getKey().getType().getDimSize(1);
  if (auto attention = dyn_cast<graph::AttentionGradOp>(op))
    return 10 * product(attention.getQuery().getType().getShape()) * attention.getKey().getType().getDimSize(1);
  return 0;
}
} // namespace

int64_t ShardingAnalysis::batchParts() const {
  return options.mesh.getDp() * (hasMicrobatches ? options.mesh.getMb() : 1);
}

int64_t ShardingAnalysis::bytesOf(Value value) const {
  RankedTensorType type = tensorType(value);
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// By how much a cut divides work. That the last parts may be padded (12 heads over 8 ranks) costs less than any other way of cutting moves.
double ShardingAnalysis::cutOf(int cls) const { return std::min<int64_t>(classes.unitsOf(cls), options.mesh.getTp()); }

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
    int8_t dim = placements[argument].tpDim;
    total.uncutParameters += bytes;
    total.parameters += dim < 0 ? bytes : bytes / cutOf(classes.classOf(argument, dim));
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
    if (isInput && cls == classes.batchClass() && batchParts() > 1 && placement.batchDim < 0)
      placement.batchDim = d;
    if (!isInput && options.cut[cls] && !classes.isSequence(cls) && placement.tpDim < 0)
      placement.tpDim = d;
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

bool ShardingAnalysis::passesPartial(Operation *op, bool overTp) const {
  graph::Linearity linearity = graph::getLinearity(op);
  if (linearity.kind == graph::Linearity::None || (overTp && !isCheapOnPartialSums(op)))
    return false;
  unsigned partial = 0, linear = 0;
  bool othersWhole = true;
  for (OpOperand &use : op->getOpOperands()) {
    const Placement &placement = placementOf(use.get());
    bool isPartial = overTp ? placement.tpPartial : placement.batchPartial;
    bool isLinear = llvm::is_contained(linearity.operands, use.getOperandNumber());
    if (isPartial && (!isLinear || placement.kind != graph::ReduceKind::Sum || (overTp && !use.get().hasOneUse())))
      return false;
    partial += isPartial;
    linear += isLinear;
    if (!isPartial && (overTp ? placement.tpDim : placement.batchDim) >= 0)
      othersWhole = false;
  }
  if (partial == 0)
    return false;
  return linearity.kind == graph::Linearity::Joint ? partial == linear : partial == 1 && othersWhole;
}

double ShardingAnalysis::moveCost(Value value, const Placement &from, const Placement &to) const {
  double n = options.mesh.getTp(), bytes = double(bytesOf(value)) * (n - 1) / n;
  if (from.batchDim >= 0)
    bytes /= batchParts();
  if (from.tpPartial && !to.tpPartial)
    return to.tpDim >= 0 ? bytes : 2 * bytes;
  if (from.tpDim >= 0 && to.tpDim != from.tpDim)
    return to.tpDim >= 0 ? bytes / n : bytes;
  return 0;
}

/// Whether `value` is a batch of sequences whose tokens have a width: what lies between the matrix products of a transformer. Scalars of tokens, and tables that all rows
/// share, are cheaper to have everywhere than to gather.
bool ShardingAnalysis::isWideSequence(Value value) const {
  bool isWide = false;
  for (int64_t d = 0; d < tensorType(value).getRank(); ++d) {
    int cls = classes.classOf(value, d);
    isWide |= cls != DimClasses::kNone && cls != classes.batchClass() && !classes.isSequence(cls);
  }
  return isWide && hasBatch(value);
}

/// What has no batch is a weight, or made of one.
double ShardingAnalysis::moveFactor(Value value) const {
  return parameterArguments.contains(value) || (tensorType(value).getRank() > 0 && !hasBatch(value)) ? kMovedWeightFactor : 1;
}

/// Whether `gradient` belongs to a weight that tp cuts: it lies as the weight does. That of a whole weight may be a sum of parts, completed once a step.
bool ShardingAnalysis::isOfCutWeight(Operation *op, Value gradient) const {
  if (op->getAttrOfType<StringAttr>(graph::kGradRoleAttr) != StringAttr::get(op->getContext(), "weight_grad"))
    return false;
  for (int64_t d = 0; d < tensorType(gradient).getRank(); ++d)
    if (int cls = classes.classOf(gradient, d); cls != DimClasses::kNone && options.cut[cls] && !classes.isSequence(cls) && cls != classes.batchClass())
      return true;
  return false;
}

bool ShardingAnalysis::hasBatch(Value value) const {
  for (int64_t d = 0; d < tensorType(value).getRank(); ++d)
    if (classes.classOf(value, d) == classes.batchClass())
      return true;
  return classes.batchClass() == DimClasses::kNone;
}

/// The dimension over which a partial sum may be completed in parts, or -1.
int ShardingAnalysis::sequenceDim(Value value) const {
  for (int64_t d = 0; d < tensorType(value).getRank(); ++d)
    if (int cls = classes.classOf(value, d); classes.isSequence(cls) && options.cut[cls] && isWideSequence(value))
      return d;
  return -1;
}

bool ShardingAnalysis::mayCut(Operation *op, int factor) const {
  const graph::FactorRule &rule = classes.ruleOf(op);
  int cls = classes.classOfFactor(op, factor);
  if (cls == DimClasses::kNone || !options.cut[cls] || !rule.factors[factor].cuttable || !alwaysFirst(rule, factor))
    return false;
  if (!classes.isSequence(cls))
    return true;
  auto with = [&](ValueRange values, ArrayRef<graph::TensorFactors> tensors) {
    SmallVector<Value> found;
    for (auto [value, dims] : llvm::zip(values, tensors))
      if (dimOf(dims, factor) >= 0)
        found.push_back(value);
    return found;
  };
  SmallVector<Value> operands = with(op->getOperands(), rule.operands), results = with(op->getResults(), rule.results);
  auto haveBatch = [&](ArrayRef<Value> values) { return llvm::all_of(values, [&](Value value) { return hasBatch(value); }); };
  auto isWide = [&](Value value) { return isWideSequence(value); };
  return haveBatch(operands) && haveBatch(results) && llvm::any_of(results.empty() ? operands : results, isWide);
}

/// The factor to cut over tp: the one that needs the least communication and redundant work, or -1.
int ShardingAnalysis::chooseTpFactor(Operation *op) const {
  if (options.mesh.getTp() == 1)
    return -1;
  const graph::FactorRule &rule = classes.ruleOf(op);
  auto costOf = [&](int factor) {
    double work = contractionFlops(op), cost = 0;
    for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands)) {
      Placement from = placementOf(value), to = complete(from);
      to.tpDim = factor < 0 ? -1 : dimOf(dims, factor);
      cost += moveCost(value, from, to) * moveFactor(value);
      work += tensorType(value).getNumElements();
    }
    for (auto [value, dims] : llvm::zip(op->getResults(), rule.results)) {
      Placement partial;
      partial.tpPartial = factor >= 0 && !contains(dims, factor);
      cost += moveCost(value, partial, Placement()) * (isOfCutWeight(op, value) ? kMovedWeightFactor : 1);
      work += tensorType(value).getNumElements();
    }
    work /= batchParts();
    return cost + (factor < 0 ? work : work / cutOf(classes.classOfFactor(op, factor)));
  };
  int best = -1;
  double bestCost = costOf(-1);
  for (int f = 0, end = rule.factors.size(); f < end; ++f) {
    if (!mayCut(op, f))
      continue;
    double cost = costOf(f);
    if (cost < bestCost) {
      best = f;
      bestCost = cost;
    }
  }
  return best;
}

/// What the user wants, -1 for nothing cut.
std::optional<int> ShardingAnalysis::constrainedTpFactor(Operation *op) const {
  auto found = options.constraints->find(op);
  if (found == options.constraints->end() || options.mesh.getTp() == 1)
    return std::nullopt;
  return found->second < 0 ? -1 : classes.ruleOf(op).operands[0][found->second].front();
}

LogicalResult ShardingAnalysis::runOp(Operation *op) {
  const graph::FactorRule &rule = classes.ruleOf(op);
  FailureOr<int> batch = batchFactor(op);
  if (failed(batch))
    return failure();
  std::optional<int> constrained = constrainedTpFactor(op);
  bool passTp = !constrained && passesPartial(op, /*overTp=*/true), passBatch = *batch < 0 && passesPartial(op, /*overTp=*/false);
  int tp = constrained ? *constrained : passTp ? -1 : chooseTpFactor(op);
  for (OpOperand &use : op->getOpOperands()) {
    const graph::TensorFactors &dims = rule.operands[use.getOperandNumber()];
    Placement now = placementOf(use.get()), need;
    need.tpDim = tp < 0 ? -1 : dimOf(dims, tp);
    need.batchDim = *batch < 0 ? -1 : dimOf(dims, *batch);
    need.tpPartial = passTp && now.tpPartial;
    need.batchPartial = passBatch && now.batchPartial;
    need.kind = now.kind;
    if (failed(require(use, need)))
      return failure();
  }
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results)) {
    Placement placement;
    placement.tpDim = tp < 0 ? -1 : dimOf(dims, tp);
    placement.batchDim = *batch < 0 ? -1 : dimOf(dims, *batch);
    placement.tpPartial = passTp || (tp >= 0 && placement.tpDim < 0);
    placement.batchPartial = passBatch || (*batch >= 0 && placement.batchDim < 0);
    if (tp >= 0 && placement.tpPartial)
      placement.kind = rule.factors[tp].reduce;
    else if (*batch >= 0 && placement.batchPartial)
      placement.kind = rule.factors[*batch].reduce;
    placements[result] = placement;
  }
  addFlops(op, tp);
  return success();
}

void ShardingAnalysis::addFlops(Operation *op, int tpFactor) {
  double flops = contractionFlops(op) * weight;
  total.uncutFlops += flops;
  total.flops += tpFactor < 0 ? flops : flops / cutOf(classes.classOfFactor(op, tpFactor));
}

LogicalResult ShardingAnalysis::require(OpOperand &use, Placement to) {
  const Placement from = placementOf(use.get());
  if (from == to)
    return success();
  Operation *op = use.getOwner();
  if (from.batchPartial && !to.batchPartial && hasMicrobatches && options.mesh.getMb() > 1) {
    InFlightDiagnostic diagnostic = error(op);
    diagnostic << "needs a sum over the whole batch that is complete only after the last of " << options.mesh.getMb()
               << " microbatches, since it is not linear in it; use --microbatches=1, or make the loss a sum over the "
                  "batch divided by something that does not depend on parameters";
    if (!quiet && use.get().getDefiningOp())
      diagnostic.attachNote(use.get().getLoc()) << "the sum";
    return failure();
  }
  if (from.batchDim >= 0 && to.batchDim != from.batchDim)
    return error(op) << "needs the whole batch of a value that dp=" << options.mesh.getDp() << " and "
                     << options.mesh.getMb() << " microbatches cut; use dp=1 and --microbatches=1";
  int key = (to.tpDim + 1) * 4 + to.tpPartial * 2 + to.batchPartial;
  if (moved.insert({use.get(), key}).second)
    total.bytes += weight * moveCost(use.get(), from, to) * moveFactor(use.get());
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
      if (isa<BlockArgument>(operand) && placements[argument].batchDim < 0)
        parameterArguments.insert(argument);
      if (isPrologue && options.mesh.getDp() == 1)
        placements[argument].batchDim = -1;
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
    if (gradient != gradientTargets.end())
      target.tpDim = gradient->second.tpDim;
    bool staysPartial = now.tpPartial && target.tpDim < 0 &&
                        (gradient != gradientTargets.end() || isa<graph::ProgramOp>(parent));
    target.tpPartial = staysPartial;
    if (now.tpPartial && !staysPartial && target.tpDim < 0)
      target.tpDim = sequenceDim(use.get());
    if (isPrologue)
      target.batchPartial = false;
    if (staysPartial)
      total.bytes += moveCost(use.get(), now, complete(now));
    if (failed(require(use, target)))
      return failure();
  }
  return success();
}

LogicalResult ShardingAnalysis::runUpdate(graph::UpdateOp update) {
  Placement target = placementOf(update.getGradient());
  target.tpDim = placementOf(update.getParameter()).tpDim;
  target.tpPartial = target.tpPartial && target.tpDim < 0;
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
  if (placement.tpDim >= 0) {
    int cls = classes.classOf(value, placement.tpDim);
    dims[placement.tpDim] = {{dist::Axis::TP}, classes.chunk(cls, type.getDimSize(placement.tpDim), options.mesh.getTp())};
  }
  if (placement.batchDim >= 0 && !batchAxes.empty()) {
    int64_t parts = options.mesh.getDp() * (withMicrobatches ? options.mesh.getMb() : 1);
    dims[placement.batchDim] = {batchAxes, type.getDimSize(placement.batchDim) / parts};
  }
  if (placement.tpPartial)
    unreduced.push_back(dist::Axis::TP);
  if (placement.batchPartial)
    unreduced.append(batchAxes);
  return dist::ShardingAttr::get(value.getContext(), dims, unreduced, dist::ReduceKind(uint32_t(placement.kind)));
}
