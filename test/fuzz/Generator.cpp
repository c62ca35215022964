#include "Generator.h"
#include "OpCases.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Shard/DimClasses.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;

namespace {
/// The sizes of a case.
struct Setting {
  int64_t tp, dp, mb;
  std::string sequenceParallel;
};

Setting chooseSetting(Random &random) {
  Setting setting{random.pick({1, 2, 2, 2, 3, 4, 4, 8}), random.pick({1, 1, 2}), random.pick({1, 1, 2}), "auto"};
  if (random.chance(0.3))
    setting.sequenceParallel = random.chance(0.5) ? "on" : "off";
  return setting;
}

class Generator {
public:
  Generator(ModuleOp module, Random &random, const Setting &setting)
      : random(random), setting(setting), b(module, random, rulesOf(random, setting)) {}

  void run() {
    start();
    grow(random.between(1, 12));
    if (random.chance(0.4))
      repeatLayer();
    grow(random.between(1, 10));
    b.finish(results());
    annotate();
  }

private:
  static BatchRules rulesOf(Random &random, const Setting &setting) {
    int64_t parts = setting.dp * setting.mb;
    return {parts > 1, setting.mb == 1, parts * random.pick({1, 1, 2, 3}) * (parts == 1 ? random.pick({2, 3, 4}) : 1)};
  }

  /// The first input has the batch, as that of every training program. A parameter that tp can cut follows.
  void start() {
    bool hasTokens = random.chance(0.5);
    Item *x;
    if (hasTokens) {
      Item *table = b.parameter({random.between(setting.tp + 1, 12), width()}, b.f32());
      SmallVector<int64_t> shape{b.rules.size, b.size()};
      Item *ids = b.input(shape, b.i32(), 0, table->shape()[0], true);
      shape.push_back(table->shape()[1]);
      x = b.make<graph::EmbeddingOp>(b.type(shape, b.f32()), table->value, ids->value);
    } else {
      SmallVector<int64_t> shape{b.rules.size};
      for (int64_t i = 0, more = random.between(1, 2); i < more; ++i)
        shape.push_back(b.size());
      Item *input = b.input(shape, b.f32(), -1.5, 1.5, true);
      std::string letters = shape.size() == 2 ? "ab" : "abc", out = letters.substr(0, letters.size() - 1) + "d";
      Item *w = b.parameter({shape.back(), width()}, b.f32(), -1, 1);
      shape.back() = w->shape().back();
      x = b.make<graph::EinsumOp>(b.type(shape, b.f32()), b.builder.getStringAttr(letters + "," + letters.back() + "d->" + out), input->value, w->value);
    }
    assert(x && "the first layer is sound");
    b.bounded(x, 3);
  }

  int64_t width() { return setting.tp * random.between(1, 3) + (random.chance(0.4) ? random.below(setting.tp) : 0) + (setting.tp == 1); }

  /// Adds `count` operations, or as many as are found sound.
  void grow(int64_t count) {
    int64_t total = 0;
    for (const OpCase &row : opCases())
      total += row.weight;
    for (int64_t tries = 5 * count; count > 0 && tries > 0; --tries) {
      int64_t at = random.below(total);
      const OpCase *chosen = nullptr;
      for (const OpCase &row : opCases())
        if (at -= row.weight; at < 0 && !chosen)
          chosen = &row;
      Item *made = chosen->make(b);
      if (!made)
        continue;
      --count;
      if (made->isFloat() && made->magnitude() > 4)
        b.bounded(made, 2);
    }
  }

  /// What follows `x` is a layer, and repeated with parameters of its own.
  void repeatLayer() {
    Item *x = b.pick([](const Item &item) { return item.isFloat() && item.isActive && item.rank() > 1; });
    if (!x)
      return;
    std::vector<Item *> outside = b.pool;
    // A layer reads its input, and what layers share: values that depend on no parameter.
    llvm::erase_if(b.pool, [&](Item *item) { return item != x && item->isActive; });
    Operation *last = &b.program.getBody().front().back();
    size_t arguments = b.program.getNumArguments();
    grow(random.between(2, 6));
    Item *out = b.pick([&](const Item &item) { return &item != x && item.isActive && item.type() == x->type() && item.batch == x->batch && item.value.getDefiningOp() && last->isBeforeInBlock(item.value.getDefiningOp()); });
    if (!out)
      out = b.unary("graph.tanh", b.binary("graph.mul", x, b.like(x)));
    if (out && random.chance(0.6))
      out = b.binary("graph.add", x, out);
    if (out)
      out = b.bounded(out, 3);
    std::vector<Operation *> layer;
    for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
      layer.push_back(op);
    b.pool = outside;
    if (!out)
      return;
    SmallVector<Value> own(llvm::drop_begin(b.program.getBody().getArguments(), arguments));
    llvm::erase_if(own, [&](Value value) { return !b.find(value)->isActive; });
    Item *now = out;
    for (int64_t copies = random.between(1, 3); copies > 0 && now; --copies) {
      b.pool.push_back(now);
      IRMapping map;
      map.map(x->value, now->value);
      for (Value parameter : own)
        map.map(parameter, b.parameter(graph::tensorType(parameter).getShape(), graph::tensorType(parameter).getElementType())->value);
      now = copy(layer, map, out->value);
    }
    if (now)
      b.pool.push_back(now);
  }

  Item *copy(ArrayRef<Operation *> layer, IRMapping &map, Value out) {
    for (Operation *op : layer)
      if (!b.clone(op, map))
        return nullptr;
    return b.find(map.lookup(out));
  }

  /// The sum of `item`, weighted so that each of its elements matters in its own way.
  Item *weightedSum(Item *item) {
    item = b.convert(item, b.f32());
    Item *weights = random.chance(0.3) ? item : b.like(item), *product = b.binary("graph.mul", item, weights);
    return product ? sumOf(product) : nullptr;
  }
  Item *sumOf(Item *item) {
    if (item->rank() == 0)
      return item;
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, item->rank()));
    return sum(item, dims);
  }
  Item *sum(Item *item, ArrayRef<int64_t> dims) {
    // The loss may be summed over a batch that nothing else may be.
    return b.create<graph::ReduceOp>(TypeRange(b.type({}, b.f32())), {}, 0, graph::ReduceKind::Sum, item->value, dims);
  }

  /// What has no batch is a term of its own, now and then a factor.
  Item *combine(Item *partial, Item *complete) {
    if (random.chance(0.85))
      return b.binary("graph.add", partial, complete);
    Item *bounded = b.unary("graph.tanh", complete);
    return bounded ? b.binary("graph.mul", partial, b.shift(bounded, 2)) : nullptr;
  }

  SmallVector<Item *> results();
  void annotate();

  Random &random;
  Setting setting;
  ProgramBuilder b;
};
} // namespace

/// A loss that depends on whatever nothing else uses. Over microbatches it is a sum of terms that each have the batch, times what has not.
SmallVector<Item *> Generator::results() {
  b.allowLossSums();
  std::vector<Item *> ends;
  // Integers and conditions count as numbers.
  for (Item *item : std::vector<Item *>(b.pool))
    if (!item->isFloat() && item->value.use_empty() && item->value.getDefiningOp() && ends.size() < 2)
      if (Item *number = b.bounded(b.convert(item, b.f32()), 2))
        ends.push_back(number);
  for (Item *item : b.pool)
    if (item->isActive && item->isFloat() && item->value.use_empty() && item->value.getDefiningOp())
      ends.push_back(item);
  random.shuffle(ends);
  if (ends.size() > 4)
    ends.resize(4);
  Item *partial = nullptr, *complete = nullptr;
  for (Item *item : ends) {
    Item *term = weightedSum(item);
    if (!term)
      continue;
    Item *&sum = item->hasBatch() ? partial : complete;
    sum = sum ? b.binary("graph.add", sum, term) : term;
  }
  if (!partial || !partial->isActive || !partial->isFromInput) {
    Item *x = b.pick([](const Item &item) { return item.isActive && item.isFromInput && item.isFloat() && item.hasBatch(); });
    Item *term = x ? weightedSum(x) : nullptr;
    term = x && !term ? sumOf(x) : term;
    if (Item *both = partial && term ? b.binary("graph.add", partial, term) : term)
      partial = both;
  }
  Item *loss = partial ? partial : complete;
  if (Item *both = partial && complete ? combine(partial, complete) : nullptr)
    loss = both;
  assert(loss && "a program has values");
  SmallVector<Item *> results;
  if (random.chance(0.5)) {
    Item *mask = b.input({b.rules.size}, b.f32(), 0.1, 1, true);
    Item *count = sumOf(mask);
    if (Item *mean = count ? b.binary("graph.div", loss, count) : nullptr)
      loss = mean;
  } else if (Item *scaled = b.scale(loss, 0.25)) {
    loss = scaled;
  }
  results.push_back(loss);
  if (random.chance(0.2) && partial && partial != loss)
    results.push_back(partial);
  return results;
}

/// Now and then the user says how one parameter lies, and that the batch is cut. What the batch is the compiler says: not all that has it is tied to the first input.
void Generator::annotate() {
  shard::DimClasses classes(b.program->getParentOfType<ModuleOp>());
  bool namesBatch = b.rules.isCut && random.chance(0.5), annotates = random.chance(0.3) && setting.sequenceParallel == "auto";
  auto batchOf = [&](Value value) {
    return llvm::map_to_vector(llvm::seq<unsigned>(0, graph::tensorType(value).getRank()),
                               [&](unsigned d) { return classes.batchClass() != shard::DimClasses::kNone && classes.classOf(value, d) == classes.batchClass(); });
  };
  SmallVector<std::pair<unsigned, int64_t>> candidates;
  for (auto [i, argument] : llvm::enumerate(b.program.getBody().getArguments())) {
    SmallVector<bool> batch = batchOf(argument);
    bool hasBatch = llvm::is_contained(batch, true);
    if (annotates && namesBatch && hasBatch && !b.find(argument)->isActive)
      b.program.setArgAttr(i, graph::kUserShardingAttr, userSharding(b.builder.getContext(), batch, -1, true));
    for (auto [d, size] : llvm::enumerate(graph::tensorType(argument).getShape()))
      if (b.find(argument)->isActive && !hasBatch && !argument.use_empty() && size >= setting.tp && size > 1)
        candidates.push_back({i, d});
  }
  if (annotates && !candidates.empty()) {
    auto [index, dim] = random.pick(candidates);
    SmallVector<bool> batch(graph::tensorType(b.program.getBody().getArgument(index)).getRank());
    b.program.setArgAttr(index, graph::kUserShardingAttr, userSharding(b.builder.getContext(), batch, dim, random.chance(0.8)));
  }
  for (auto constrain : llvm::make_early_inc_range(b.program.getBody().getOps<graph::ConstrainOp>())) {
    SmallVector<bool> batch = batchOf(constrain.getResult());
    int64_t cut = -1;
    for (auto [d, dim] : llvm::enumerate(cast<sdy::TensorShardingAttr>(constrain.getSharding()).getDimShardings()))
      cut = dim.getAxes().empty() ? cut : int64_t(d);
    bool hasBatch = llvm::is_contained(batch, true);
    if ((cut >= 0 && batch[cut]) || (cut < 0 && hasBatch)) {
      constrain.replaceAllUsesWith(constrain.getOperand());
      constrain.erase();
      continue;
    }
    if (!namesBatch)
      batch.assign(batch.size(), false);
    constrain.setShardingAttr(userSharding(b.builder.getContext(), batch, cut, hasBatch || random.chance(0.7)));
  }
}

OwningOpRef<ModuleOp> p3d::fuzz::generate(MLIRContext &context, uint64_t seed) {
  Random random(seed);
  Setting setting = chooseSetting(random);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  Builder builder(&context);
  (*module)->setAttr(kMeshAttr, builder.getDenseI64ArrayAttr({setting.tp, setting.dp, setting.mb}));
  (*module)->setAttr(kSequenceAttr, builder.getStringAttr(setting.sequenceParallel));
  Generator(*module, random, setting).run();
  return module;
}
