#include "passes/Import/LayerPlan.h"
#include "passes/Import/RepeatedRuns.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

bool p3d::import::isCarriedSum(Operation *op, const Dependence &dependence) {
  return isa<graph::AddOp>(op) && dependence.isBatchSum(op->getResult(0));
}

namespace {

/// The active operations; in a program whose loss depends on no input, those that depend on parameters. Sums of two sums over the batch stand directly after the later of them, so that an auxiliary loss is added where it arises.
SmallVector<Operation *> orderChain(graph::ProgramOp program, const Dependence &dependence) {
  SmallVector<Operation *> active;
  DenseMap<Operation *, SmallVector<Operation *, 1>> followers;
  DenseMap<Operation *, size_t> place;
  SmallVector<Operation *> leading;
  auto body = program.getBody().front().without_terminator();
  bool readsInputs = llvm::any_of(body, [&](Operation &op) { return dependence.of(&op) == Source::Active; });
  for (Operation &op : body) {
    if (dependence.of(&op) != (readsInputs ? Source::Active : Source::Parameter))
      continue;
    size_t index = place.size();
    place[&op] = index;
    Operation *latest = nullptr;
    size_t sums = 0;
    for (Value operand : op.getOperands()) {
      sums += operand.getDefiningOp<graph::ConstantOp>() != nullptr;
      if (Operation *def = operand.getDefiningOp(); def && place.count(def)) {
        sums += dependence.isBatchSum(operand);
        if (!latest || place[def] > place[latest])
          latest = def;
      }
    }
    if (isCarriedSum(&op, dependence) && sums == 2 && latest) {
      followers[latest].push_back(&op);
      place[&op] = place[latest];
    } else {
      leading.push_back(&op);
    }
  }
  for (Operation *op : leading) {
    SmallVector<Operation *> stack{op};
    while (!stack.empty()) {
      Operation *next = stack.pop_back_val();
      active.push_back(next);
      auto it = followers.find(next);
      if (it != followers.end())
        llvm::append_range(stack, llvm::reverse(it->second));
    }
  }
  return active;
}

class LayerFinder {
public:
  LayerFinder(graph::ProgramOp program, const Dependence &dependence, SmallVector<Operation *> chain)
      : program(program), dependence(dependence), chain(std::move(chain)) {
    for (auto [i, op] : llvm::enumerate(this->chain))
      position[op] = i;
    measureLifetimes();
  }

  SmallVector<LayerPart> find() {
    Candidate best = evaluate(chain.size() + 1);
    // Long-lived values, the longest first, for as long as they reach across layers.
    SmallVector<size_t> spans;
    for (const Lifetime &life : lifetimes)
      spans.push_back(life.last - life.def);
    llvm::sort(spans, std::greater<>());
    spans.erase(llvm::unique(spans), spans.end());
    constexpr size_t kMaxTried = 16;
    for (size_t span : ArrayRef(spans).take_front(kMaxTried)) {
      Candidate candidate = evaluate(span);
      bool reachesAcross = span >= 2 * candidate.longestLayer && 2 * candidate.covered >= chain.size();
      if (candidate.covered > best.covered && reachesAcross)
        best = candidate;
    }
    return toParts(best);
  }

private:
  /// An active value that is no sum over the batch: defined by chain[def], used last by chain[last].
  struct Lifetime {
    size_t def, last;
  };
  struct Candidate {
    SmallVector<std::pair<size_t, size_t>> layers; // of the chain
    size_t covered = 0, longestLayer = 0;
  };

  void measureLifetimes() {
    for (auto [i, op] : llvm::enumerate(chain))
      for (Value result : op->getResults()) {
        if (dependence.isBatchSum(result))
          continue;
        size_t last = i;
        // What only the caller reads (caches, metrics) is no part of the chain.
        for (Operation *user : result.getUsers())
          if (auto it = position.find(user); it != position.end())
            last = std::max(last, it->second);
        if (last > i)
          lifetimes.push_back({i, last});
      }
  }

  /// Layers when values alive for `longSpan` operations or more do not count.
  Candidate evaluate(size_t longSpan) {
    SmallVector<int> change(chain.size() + 2, 0), longChange(chain.size() + 2, 0);
    for (const Lifetime &life : lifetimes) {
      auto &changes = life.last - life.def < longSpan ? change : longChange;
      ++changes[life.def + 1];
      --changes[life.last + 1];
    }
    SmallVector<size_t> bounds{0};
    int alive = 0, longAlive = 0;
    for (size_t cut = 1; cut < chain.size(); ++cut) {
      alive += change[cut];
      longAlive += longChange[cut];
      // Where nothing else is alive a long-lived value is the chain itself: the embedding that is also a skip connection.
      if (alive == 1 || (alive == 0 && longAlive == 1))
        bounds.push_back(cut);
    }
    bounds.push_back(chain.size());
    SmallVector<Segment> segments;
    for (size_t i = 0; i + 1 < bounds.size(); ++i)
      segments.push_back(describe(bounds[i], bounds[i + 1]));
    SmallVector<std::pair<size_t, size_t>> layers;
    for (auto [first, count] : findLayers(segments))
      layers.push_back({segments[first].begin, segments[first + count - 1].end});
    extend(layers, bounds);
    Candidate candidate;
    for (auto [begin, end] : layers) {
      candidate.layers.push_back({begin, end});
      candidate.covered += end - begin;
      candidate.longestLayer = std::max(candidate.longestLayer, end - begin);
    }
    return candidate;
  }

  /// Adds layers before and after those found whose operations are the same, though cut finer: while the first layer of a skip connection runs, the
  /// value that is skipped is its residual too, and does not count.
  void extend(SmallVectorImpl<std::pair<size_t, size_t>> &layers, ArrayRef<size_t> bounds) {
    auto isCut = [&](size_t at) { return std::binary_search(bounds.begin(), bounds.end(), at); };
    SmallVector<std::pair<size_t, size_t>> all;
    for (auto [i, layer] : llvm::enumerate(layers)) {
      auto [begin, end] = layer;
      size_t size = end - begin, low = all.empty() ? 0 : all.back().second;
      SmallVector<std::pair<size_t, size_t>> before;
      llvm::hash_code key = describe(begin, end).exact;
      for (size_t at = begin; at >= low + size && isCut(at - size) && describe(at - size, at).exact == key; at -= size)
        before.push_back({at - size, at});
      all.append(before.rbegin(), before.rend());
      all.push_back(layer);
      size_t high = i + 1 < layers.size() ? layers[i + 1].first : chain.size();
      for (size_t at = end; at + size <= high && isCut(at + size) && describe(at, at + size).exact == key; at += size)
        all.push_back({at, at + size});
    }
    layers.assign(all.begin(), all.end());
  }

  Segment describe(size_t begin, size_t end) {
    Segment segment{begin, end};
    DenseMap<Value, unsigned> numbers;
    llvm::hash_code exact = 0, alike = 0;
    for (Operation *op : ArrayRef(chain).slice(begin, end - begin)) {
      auto name = op->getName().getAsOpaquePointer();
      exact = llvm::hash_combine(exact, name, op->getAttrDictionary());
      alike = llvm::hash_combine(alike, name, op->getAttr("spec"), op->getAttr("kind"));
      for (Value operand : op->getOperands()) {
        auto type = graph::tensorType(operand);
        bool isLocal = false;
        if (Operation *def = operand.getDefiningOp(); def && position.count(def))
          isLocal = position.lookup(def) >= begin;
        // The start of a sum over layers is a constant in the first layer, a value in the others.
        bool isCarried = isCarriedSum(op, dependence) && !isLocal;
        Source source = dependence.of(operand);
        unsigned number = isCarried ? ~0u : numbers.try_emplace(operand, numbers.size()).first->second;
        exact = llvm::hash_combine(exact, isCarried ? ~0u : unsigned(source), number, type.getAsOpaquePointer());
        // The first of the layers of a network takes an input where the others take an activation.
        alike = llvm::hash_combine(alike, isCarried || dependsOnInputs(source), number, type.getRank(), type.getElementType().getAsOpaquePointer());
        if (dependence.of(operand) == Source::Parameter)
          segment.contractions += isa<graph::EinsumOp>(op), collectParameters(operand, segment.parameters);
      }
      for (Value result : op->getResults())
        numbers.try_emplace(result, numbers.size());
    }
    segment.exact = exact;
    segment.alike = alike;
    return segment;
  }

  /// Names of the parameters behind `value`.
  void collectParameters(Value value, SmallVectorImpl<StringRef> &names) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto name = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr))
        names.push_back(name.getValue());
      return;
    }
    for (Value operand : value.getDefiningOp()->getOperands())
      if (dependence.of(operand) == Source::Parameter)
        collectParameters(operand, names);
  }

  SmallVector<LayerPart> toParts(const Candidate &candidate) {
    SmallVector<LayerPart> parts;
    size_t done = 0;
    for (auto [begin, end] : candidate.layers) {
      if (begin > done && parts.empty())
        parts.push_back({done, begin, false});
      // What stands between two layers belongs to the second.
      parts.push_back({parts.empty() || !parts.back().isLayer ? begin : done, end, true});
      done = end;
    }
    if (done < chain.size())
      parts.push_back({done, chain.size(), false});
    return parts;
  }

  graph::ProgramOp program;
  const Dependence &dependence;
  SmallVector<Operation *> chain;
  DenseMap<Operation *, size_t> position;
  SmallVector<Lifetime> lifetimes;
};

} // namespace

LayerPlan p3d::import::planLayers(graph::ProgramOp program, const Dependence &dependence) {
  LayerPlan plan;
  plan.chain = orderChain(program, dependence);
  plan.parts = LayerFinder(program, dependence, plan.chain).find();
  return plan;
}
