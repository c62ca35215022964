// Classes with fewer units than ranks: which of their dimensions fall into as many parts as there are ranks.
#include "passes/Shard/DimClasses.h"
#include <numeric>

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

/// What stands behind the units of a dimension of class `cls`: of [key heads, group, depth] the group. Rests that the rules of operations tie are cut alike.
class DimClasses::Rests {
public:
  Rests(DimClasses &classes, int cls) : classes(classes), cls(cls), units(classes.unitsOf(cls)) {
    for (auto &[op, rule] : classes.rules)
      addOp(op, rule);
    for (auto [a, b] : classes.ties)
      if (classes.classOfNode[a] == cls)
        tie(a, b);
  }

  /// The dimensions whose rests fall into `parts`.
  llvm::DenseSet<int> findFine(int64_t parts) {
    llvm::DenseSet<int> fine;
    for (auto &[node, parent] : parents)
      if (const Rest &rest = rests[find(node)]; rest.units > 0 && rest.units % parts == 0 && !rest.standsAlone)
        fine.insert(node);
    return fine;
  }

private:
  struct Rest {
    int64_t units = 0;        ///< greatest common divisor of the factors that it starts with; 0 where there are none
    bool standsAlone = false; ///< is a dimension of its own somewhere
  };

  void addOp(Operation *op, const graph::FactorRule &rule) {
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      if (classes.classOfFactor(op, f) != cls)
        continue;
      llvm::DenseMap<int, int> firstWith; // by the factor that stands next
      auto add = [&, f = int(f), size = factor.size](ValueRange values, ArrayRef<graph::TensorFactors> tensors) {
        for (auto [value, dims] : llvm::zip(values, tensors))
          for (auto [d, factors] : llvm::enumerate(dims)) {
            if (factors.empty() || factors.front() != f)
              continue;
            bool isInside = size > units;
            if (!isInside && factors.size() == 1)
              continue;
            int next = isInside ? f : factors[1], node = classes.node(value, d);
            Rest &rest = rests[find(node)];
            rest.units = std::gcd(rest.units, isInside ? size / units : rule.factors[next].size);
            rest.standsAlone |= !isInside && isFirstOfAny(rule, next);
            auto [it, isNew] = firstWith.try_emplace(next, node);
            if (!isNew)
              tie(it->second, node);
          }
      };
      add(op->getOperands(), rule.operands);
      add(op->getResults(), rule.results);
    }
  }

  static bool isFirstOfAny(const graph::FactorRule &rule, int factor) {
    auto isFirst = [&](const graph::TensorFactors &dims) {
      return llvm::any_of(dims, [&](const graph::DimFactors &dim) { return !dim.empty() && dim.front() == factor; });
    };
    return llvm::any_of(rule.operands, isFirst) || llvm::any_of(rule.results, isFirst);
  }

  int find(int node) {
    int parent = parents.try_emplace(node, node).first->second;
    while (parent != node) {
      node = parent;
      parent = parents.lookup(node);
    }
    return node;
  }

  void tie(int a, int b) {
    a = find(a);
    b = find(b);
    if (a == b)
      return;
    parents[b] = a;
    Rest other = rests.lookup(b);
    Rest &rest = rests[a];
    rest.units = std::gcd(rest.units, other.units);
    rest.standsAlone |= other.standsAlone;
  }

  DimClasses &classes;
  int cls;
  int64_t units;
  llvm::DenseMap<int, int> parents;
  llvm::DenseMap<int, Rest> rests;
};

void DimClasses::splitOver(int64_t tp) {
  for (int cls = 0; cls < size() && split == kNone; ++cls) {
    if (unitsOf(cls) < 2 || unitsOf(cls) >= tp || tp % unitsOf(cls) || cls == batch || isSequence(cls))
      continue;
    fineNodes = Rests(*this, cls).findFine(tp / unitsOf(cls));
    if (!fineNodes.empty())
      split = cls;
  }
}

bool DimClasses::isFine(Value value, unsigned dim) const {
  auto it = firstNode.find(value);
  return it != firstNode.end() && fineNodes.contains(it->second + dim);
}

int DimClasses::minorFactor(Operation *op, int factor) const {
  const graph::FactorRule &rule = ruleOf(op);
  int cls = classOfFactor(op, factor);
  if (!isSplit(cls))
    return factor;
  bool isInside = rule.factors[factor].size > unitsOf(cls);
  auto findIn = [&](ValueRange values, ArrayRef<graph::TensorFactors> tensors) {
    for (auto [value, dims] : llvm::zip(values, tensors))
      for (auto [d, factors] : llvm::enumerate(dims))
        if (!factors.empty() && factors.front() == factor && isFine(value, d))
          return isInside ? factor : factors[1];
    return -1;
  };
  int found = findIn(op->getOperands(), rule.operands);
  return found >= 0 ? found : findIn(op->getResults(), rule.results);
}
