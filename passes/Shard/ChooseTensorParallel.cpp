#include "passes/Shard/ChooseTensorParallel.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

namespace {
/// Classes searched exhaustively: those that hold the most parameters; the others are added one by one.
constexpr size_t kExhaustive = 6;

/// Bytes of every tensor of the module, the scale for communication.
double totalBytes(ModuleOp module) {
  double bytes = 0;
  module.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        bytes += tensorType(result).getNumElements() * (tensorType(result).getElementTypeBitWidth() / 8.0);
  });
  return std::max(bytes, 1.0);
}

class Search {
public:
  Search(ModuleOp module, const DimClasses &classes, const ShardingOptions &options)
      : module(module), classes(classes), options(options), messages(totalBytes(module) / options.link.bytesPerSecond) {}

  /// Work and parameters per rank as parts of the whole, and the seconds of all else as a part of what they are where nothing is cut and every tensor is sent once: they
  /// decide only between cuts that leave about equal work.
  double costOf(const SmallVector<bool> &cut) {
    options.cut = cut;
    ShardingAnalysis analysis(module, classes, options);
    if (failed(analysis.run(/*quiet=*/true)))
      return std::numeric_limits<double>::infinity();
    const ShardingCost &cost = analysis.cost();
    double flops = cost.uncutFlops > 0 ? cost.flops / cost.uncutFlops : 0;
    double parameters = cost.uncutParameters > 0 ? cost.parameters / cost.uncutParameters : 0;
    return flops + parameters + kSecondsWeight * cost.seconds / (cost.uncutSeconds + messages) + kIdleRank * idleRanks(cut);
  }

private:
  static constexpr double kSecondsWeight = 0.5;
  /// Whoever asks for so many ranks wants each to hold a part of something: of what can be cut so far, the cheapest.
  static constexpr double kIdleRank = 1e9;

  double idleRanks(ArrayRef<bool> cut) const { return options.mesh.getTp() - mostParts(classes, cut, options.mesh.getTp()); }

  ModuleOp module;
  const DimClasses &classes;
  ShardingOptions options;
  double messages; ///< seconds
};

/// The open classes of weights' dimensions, trained or frozen, but the sequence, those of the largest parameters first.
SmallVector<int> candidates(ModuleOp module, const DimClasses &classes, ArrayRef<std::optional<bool>> fixed) {
  SmallVector<double> weight(classes.size());
  for (auto program : module.getOps<graph::ProgramOp>())
    for (auto [i, argument] : llvm::enumerate(program.getBody().getArguments())) {
      auto role = program.getArgAttrOfType<StringAttr>(i, graph::kRoleAttr);
      for (int64_t d = 0; role && (role.getValue() == "param" || role.getValue() == "frozen") && d < tensorType(argument).getRank(); ++d)
        if (int cls = classes.classOf(argument, d); cls != DimClasses::kNone)
          weight[cls] += tensorType(argument).getNumElements();
    }
  SmallVector<int> order;
  for (int cls = 0; cls < classes.size(); ++cls)
    if (weight[cls] > 0 && classes.unitsOf(cls) > 1 && cls != classes.batchClass() && !classes.isSequence(cls) && !fixed[cls])
      order.push_back(cls);
  llvm::stable_sort(order, [&](int a, int b) { return weight[a] > weight[b]; });
  return order;
}
} // namespace

int64_t p3d::shard::mostParts(const DimClasses &classes, ArrayRef<bool> cut, int64_t tp) {
  int64_t most = 1;
  for (auto [cls, isCut] : llvm::enumerate(cut))
    if (isCut)
      most = std::max(most, classes.isSplit(cls) ? tp : classes.unitsOf(cls));
  return std::min(most, tp);
}

SmallVector<bool> p3d::shard::chooseTensorParallel(ModuleOp module, const DimClasses &classes, const ShardingOptions &options, const UserShardings &user) {
  SmallVector<bool> best(classes.size(), false);
  for (auto [cls, choice] : llvm::enumerate(user.fixed))
    best[cls] = choice.value_or(false);
  if (options.mesh.getTp() == 1)
    return best;
  // Weights are cut alike in small models and large ones: there latency, which would keep all of a small one together, does not count.
  ShardingOptions byBytes = options;
  byBytes.link.latencySeconds = 0;
  Search weights(module, classes, byBytes);
  SmallVector<int> open = candidates(module, classes, user.fixed);
  size_t searched = std::min(open.size(), kExhaustive);
  double bestCost = weights.costOf(best);
  SmallVector<bool> base = best;
  for (unsigned subset = 1; subset < (1u << searched); ++subset) {
    SmallVector<bool> cut = base;
    for (size_t i = 0; i < searched; ++i)
      cut[open[i]] = subset >> i & 1;
    double cost = weights.costOf(cut);
    if (cost < bestCost)
      std::tie(best, bestCost) = std::pair(cut, cost);
  }
  auto tryClass = [&](Search &search, int cls) {
    SmallVector<bool> cut = best;
    cut[cls] = true;
    double cost = search.costOf(cut);
    if (cost < bestCost)
      std::tie(best, bestCost) = std::pair(cut, cost);
  };
  for (int cls : ArrayRef(open).drop_front(searched))
    tryClass(weights, cls);
  Search messages(module, classes, options);
  bestCost = messages.costOf(best);
  for (int cls = 0; cls < classes.size(); ++cls)
    if (classes.isSequence(cls) && !user.fixed[cls])
      tryClass(messages, cls);
  return best;
}
