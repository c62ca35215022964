// What an operation cuts: the factor that leaves the least to move and to do.
#include "dialects/Graph/EinsumSpec.h"
#include "passes/Shard/FactorCuts.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

namespace {
/// How much dearer it is to move a weight than an activation of the same size: weights stay where they are stored, however many rows a batch has.
constexpr double kMovedWeightFactor = 1e4;

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

/// By how much a cut divides work. That the last parts may be padded (12 heads over 8 ranks) costs less than any other way of cutting moves.
double ShardingAnalysis::cutOf(int cls, bool isFine) const {
  return isFine && classes.isSplit(cls) ? options.mesh.getTp() : std::min<int64_t>(classes.unitsOf(cls), options.mesh.getTp());
}

/// Whether partial sums over an axis pass through `op`: always, or only where that is `cheaper` than to complete them first.
bool ShardingAnalysis::passesPartial(Operation *op, llvm::function_ref<const Part &(const Placement &)> over, bool cheaper) const {
  graph::Linearity linearity = graph::getLinearity(op);
  if (linearity.kind == graph::Linearity::None || (cheaper && !isCheapOnPartialSums(op)))
    return false;
  unsigned partial = 0, linear = 0;
  bool othersWhole = true;
  for (OpOperand &use : op->getOpOperands()) {
    const Placement &placement = placementOf(use.get());
    auto [dim, isPartial] = over(placement);
    bool isLinear = llvm::is_contained(linearity.operands, use.getOperandNumber());
    if (isPartial && (!isLinear || placement.kind != graph::ReduceKind::Sum || (cheaper && !use.get().hasOneUse())))
      return false;
    partial += isPartial;
    linear += isLinear;
    othersWhole &= dim < 0;
  }
  if (partial == 0)
    return false;
  return linearity.kind == graph::Linearity::Joint ? partial == linear : partial == 1 && othersWhole;
}

/// Whether `op` adds complete values to sums over microbatches (a penalty on weights to the loss). It can neither wait for the sums nor add the whole to each: only one part gets it.
bool ShardingAnalysis::spreadsOverBatch(Operation *op) const {
  graph::Linearity linearity = graph::getLinearity(op);
  if (!sumsMicrobatches() || linearity.kind != graph::Linearity::Joint)
    return false;
  bool hasSums = false;
  for (OpOperand &use : op->getOpOperands()) {
    const Placement &placement = placementOf(use.get());
    bool isLinear = llvm::is_contained(linearity.operands, use.getOperandNumber());
    bool isSum = placement.batch.isPartial && placement.kind == graph::ReduceKind::Sum;
    if (placement.batch.isPartial && !(isSum && isLinear))
      return false;
    hasSums |= isSum;
  }
  return hasSums;
}

void ShardingAnalysis::forEachMessage(Value value, const Placement &from, const Placement &to, llvm::function_ref<void(StringRef, double, int64_t)> message) const {
  double whole = double(bytesOf(value)) / (from.batch.dim >= 0 ? batchParts() : 1);
  auto over = [&](int64_t ranks, const Part &old, const Part &now, double bytes) {
    if (old.isPartial && !now.isPartial)
      message(now.dim >= 0 ? "reduce_scatter" : "all_reduce", bytes, ranks);
    else if (old.dim >= 0 && now.dim >= 0 && now.dim != old.dim)
      message("all_to_all", bytes / ranks, ranks);
    else if (old.dim >= 0 && now.dim < 0)
      message("all_gather", bytes, ranks);
  };
  if (from.tp[0] == from.tp[1] && to.tp[0] == to.tp[1])
    return over(options.mesh.getTp(), from.tp[0], to.tp[0], whole);
  for (int i : {0, 1})
    over(ranksOf(i), from.tp[i], to.tp[i], from.tp[1 - i].dim >= 0 ? whole / ranksOf(1 - i) : whole);
}

double ShardingAnalysis::moveCost(Value value, const Placement &from, const Placement &to) const {
  double sent = 0;
  forEachMessage(value, from, to, [&](StringRef kind, double bytes, int64_t ranks) { sent += (kind == "all_reduce" ? 2 : 1) * bytes * (ranks - 1) / ranks; });
  return sent;
}

void ShardingAnalysis::addMove(Value value, const Placement &from, const Placement &to, double times) {
  forEachMessage(value, from, to, [&](StringRef kind, double bytes, int64_t ranks) { total.seconds += times * messageSeconds(kind, bytes, ranks, options.link); });
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
    std::array<Cut, 2> cuts = cutsOf(op, factor);
    for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands)) {
      Placement from = placementOf(value), to = complete(from);
      for (int i : {0, 1})
        to.tp[i] = {int8_t(dimOf(dims, cuts, i)), cuts[i].passesPartial && from.tp[i].isPartial};
      cost += moveCost(value, from, to) * moveFactor(value);
      work += tensorType(value).getNumElements();
    }
    for (auto [value, dims] : llvm::zip(op->getResults(), rule.results)) {
      Placement partial;
      if (factor >= 0 && !contains(dims, factor))
        partial.setTp(Part::partial());
      cost += moveCost(value, partial, Placement()) * (isOfCutWeight(op, value) ? kMovedWeightFactor : 1);
      work += tensorType(value).getNumElements();
    }
    work /= batchParts();
    return cost + (factor < 0 ? work : work / cutOf(classes.classOfFactor(op, factor), cuts[1].factor >= 0));
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

std::array<Cut, 2> ShardingAnalysis::cutsOf(Operation *op, int factor) const {
  Cut minor{factor < 0 ? -1 : classes.minorFactor(op, factor)};
  // The ranks of tp_minor would do the same work anyway.
  minor.passesPartial = factor >= 0 && minor.factor < 0 && passesPartial(op, overMinor, /*cheaper=*/false);
  return {Cut{factor}, minor};
}

std::array<Cut, 2> ShardingAnalysis::chooseTpCuts(Operation *op) const {
  std::optional<int> constrained = constrainedTpFactor(op);
  if (!constrained && passesPartial(op, overMajor, /*cheaper=*/true))
    return {Cut{-1, true}, Cut{-1, passesPartial(op, overMinor, /*cheaper=*/true)}};
  return cutsOf(op, constrained ? *constrained : chooseTpFactor(op));
}

void ShardingAnalysis::addWork(Operation *op, const std::array<Cut, 2> &cuts) {
  double flops = contractionFlops(op) * weight;
  auto addTraffic = [&](ValueRange values) {
    for (Value value : values) {
      Placement placement = placementOf(value);
      double seconds = weight * bytesOf(value) / (placement.batch.dim >= 0 ? batchParts() : 1) / options.memoryBytesPerSecond;
      total.uncutSeconds += seconds;
      total.seconds += placement.tp[0].dim < 0 ? seconds : seconds / ranksOf(false) / (placement.tp[1].dim < 0 ? 1 : ranksOf(true));
    }
  };
  // What element-wise operations read is mostly what the one before has just written.
  if (flops == 0)
    addTraffic(op->getResults());
  if (flops == 0 && !op->hasTrait<graph::Elementwise>())
    addTraffic(op->getOperands());
  total.uncutFlops += flops;
  total.flops += cuts[0].factor < 0 ? flops : flops / cutOf(classes.classOfFactor(op, cuts[0].factor), cuts[1].factor >= 0);
}
