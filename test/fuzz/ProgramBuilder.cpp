#include "ProgramBuilder.h"
#include "Conditioning.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include <cmath>

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;
using graph::Tensor;

namespace {
constexpr int64_t kMostElements = 2048, kHighestRank = 5;
/// Beyond it sums lose digits that the comparison counts on.
constexpr double kLargest = 40, kLargestSum = 1e6;

DenseElementsAttr attributeOf(RankedTensorType type, function_ref<double()> next) {
  Type element = type.getElementType();
  SmallVector<Attribute> elements;
  for (int64_t i = 0, n = type.getNumElements(); i < n; ++i) {
    double number = next();
    elements.push_back(isa<FloatType>(element) ? Attribute(FloatAttr::get(element, number)) : Attribute(IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), int64_t(number), true))));
  }
  return DenseElementsAttr::get(type, elements);
}

int firstOf(const graph::DimFactors &dim) { return dim.empty() ? -1 : dim.front(); }
} // namespace

graph::Tensors p3d::fuzz::inputsOf(graph::ProgramOp program) {
  graph::Tensors inputs;
  for (auto [i, type] : llvm::enumerate(program.getArgumentTypes())) {
    auto range = program.getArgAttrOfType<DenseF64ArrayAttr>(i, kRangeAttr);
    auto seed = program.getArgAttrOfType<IntegerAttr>(i, kSeedAttr);
    Random random(seed ? seed.getInt() : 17 + i);
    double low = range ? range[0] : -1.5, high = range ? range[1] : 1.5;
    Tensor &tensor = inputs.emplace_back(cast<RankedTensorType>(type));
    for (double &element : tensor.floats)
      element = random.real(low, high);
    for (int64_t &element : tensor.ints)
      element = graph::wrapInteger(std::floor(random.real(low, high)), tensor.elementType);
  }
  return inputs;
}

double Item::magnitude() const {
  double most = 0;
  for (double element : tensor.floats)
    most = std::max(most, std::fabs(element));
  return most;
}

ProgramBuilder::ProgramBuilder(ModuleOp module, Random &random, BatchRules rules) : random(random), builder(module.getContext()), rules(rules) {
  builder.setInsertionPointToEnd(module.getBody());
  program = builder.create<graph::ProgramOp>(builder.getUnknownLoc(), "loss", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(&program.getBody().front());
}

Item *ProgramBuilder::argument(ArrayRef<int64_t> shape, Type element, double low, double high, StringRef role, StringRef name) {
  unsigned index = program.getNumArguments();
  auto tensor = type(shape, element);
  NamedAttrList attributes;
  attributes.set(graph::kNameAttr, builder.getStringAttr(name));
  attributes.set(graph::kRoleAttr, builder.getStringAttr(role));
  attributes.set(kRangeAttr, builder.getDenseF64ArrayAttr({low, high}));
  attributes.set(kSeedAttr, builder.getI64IntegerAttr(100 + index));
  program.insertArgument(index, tensor, attributes.getDictionary(builder.getContext()), builder.getUnknownLoc());
  Item &item = items.emplace_back();
  item.value = program.getBody().getArgument(index);
  item.tensor = inputsOf(program).back();
  item.batch.assign(shape.size(), false);
  item.isActive = role == "param";
  item.isFromInput = role == "input";
  pool.push_back(&item);
  return &item;
}

Item *ProgramBuilder::parameter(ArrayRef<int64_t> shape, Type element, double low, double high) {
  return argument(shape, element, low, high, isa<FloatType>(element) ? "param" : "buffer", "params.w" + std::to_string(parameters++));
}

Item *ProgramBuilder::input(ArrayRef<int64_t> shape, Type element, double low, double high, bool startsWithBatch, StringRef role) {
  Item *item = argument(shape, element, low, high, role, "batch.x" + std::to_string(inputs++));
  if (startsWithBatch)
    item->batch.front() = true;
  return item;
}

Item *ProgramBuilder::splat(ArrayRef<int64_t> shape, Type element, double value, ArrayRef<bool> batch) {
  auto tensor = type(shape, element);
  Attribute number = isa<FloatType>(element) ? Attribute(FloatAttr::get(element, value)) : Attribute(IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), int64_t(value), true)));
  return create<graph::ConstantOp>(TypeRange(tensor), batch, 0, DenseElementsAttr::get(tensor, number));
}

Item *ProgramBuilder::denseConstant(ArrayRef<int64_t> shape, Type element, double low, double high) {
  auto tensor = type(shape, element);
  return make<graph::ConstantOp>(tensor, attributeOf(tensor, [&] { return isa<FloatType>(element) ? random.real(low, high) : std::floor(random.real(low, high)); }));
}

Item *ProgramBuilder::find(Value value) {
  for (Item &item : items)
    if (item.value == value)
      return &item;
  return nullptr;
}

/// Whether `op` works on parts of the batch; sets which dimensions of its results are the batch.
static bool followBatch(Operation *op, ArrayRef<Item *> operands, ArrayRef<bool> given, BatchRules rules, SmallVectorImpl<SmallVector<bool>> &results) {
  graph::FactorRule rule = graph::getFactorRule(op);
  SmallVector<bool> isBatch(rule.factors.size());
  auto forEachDim = [&](auto fn) {
    for (auto [item, dims] : llvm::zip(operands, rule.operands))
      for (auto [d, dim] : llvm::enumerate(dims))
        if (firstOf(dim) >= 0)
          fn(item->batch[d], firstOf(dim));
  };
  forEachDim([&](bool batch, int factor) { isBatch[factor] |= batch; });
  for (const graph::TensorFactors &dims : rule.results)
    for (auto [d, dim] : llvm::enumerate(dims))
      if (firstOf(dim) >= 0 && d < given.size() && given[d])
        isBatch[firstOf(dim)] = true;
  bool isSound = llvm::count(isBatch, true) <= 1;
  forEachDim([&](bool batch, int factor) { isSound &= batch == isBatch[factor]; });
  bool isActive = llvm::any_of(operands, [](Item *item) { return item->isActive; });
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    if (!isBatch[f])
      continue;
    // One part of the batch for each replica and microbatch: it stays whole in reshapes.
    isSound &= factor.cuttable && factor.size == rules.size;
    auto check = [&](ArrayRef<graph::TensorFactors> tensors, bool areResults) {
      for (const graph::TensorFactors &dims : tensors) {
        bool has = llvm::any_of(dims, [&, f = f](const graph::DimFactors &dim) { return llvm::is_contained(dim, int(f)); });
        bool starts = llvm::any_of(dims, [&, f = f](const graph::DimFactors &dim) { return firstOf(dim) == int(f); });
        isSound &= has == starts;
        if (areResults && !has)
          isSound &= rules.sumsAnywhere || !isActive;
      }
    };
    check(rule.operands, false);
    check(rule.results, true);
  }
  for (const graph::TensorFactors &dims : rule.results)
    results.push_back(llvm::map_to_vector(dims, [&](const graph::DimFactors &dim) { return firstOf(dim) >= 0 && isBatch[firstOf(dim)]; }));
  return isSound || !rules.isCut;
}

Item *ProgramBuilder::admit(Operation *op, ArrayRef<bool> batch, unsigned kept) {
  ScopedDiagnosticHandler quiet(builder.getContext(), [](Diagnostic &) {});
  SmallVector<Item *> operands = llvm::map_to_vector(op->getOperands(), [&](Value value) { return find(value); });
  SmallVector<const Tensor *> tensors = llvm::map_to_vector(operands, [](Item *item) -> const Tensor * { return &item->tensor; });
  SmallVector<SmallVector<bool>> batches;
  bool isSmall = llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getNumElements() <= kMostElements && tensor.getNumElements() > 0 && tensor.getRank() <= kHighestRank;
  });
  auto reject = [&]() -> Item * {
    op->erase();
    return nullptr;
  };
  BatchRules now = rules;
  now.sumsAnywhere |= areLossSums;
  if (!isSmall || failed(verify(op)) || !followBatch(op, operands, batch, now, batches))
    return reject();
  FailureOr<graph::Tensors> results = graph::evaluate(op, tensors);
  if (failed(results) || isNearJump(op, tensors, *results))
    return reject();
  for (const Tensor &result : *results)
    if (llvm::any_of(result.floats, [&](double x) { return !(std::fabs(x) <= (areLossSums ? kLargestSum : kLargest)); }))
      return reject();
  Item *first = nullptr;
  for (auto [i, value] : llvm::enumerate(op->getResults())) {
    Item &item = items.emplace_back();
    item.value = value;
    item.tensor = std::move((*results)[i]);
    item.batch = batches[i];
    item.isActive = llvm::any_of(operands, [](Item *operand) { return operand->isActive; });
    item.isFromInput = llvm::any_of(operands, [](Item *operand) { return operand->isFromInput; });
    if (i < kept)
      pool.push_back(&item);
    first = first ? first : &item;
  }
  return first;
}

static Operation *createByName(OpBuilder &builder, Location loc, StringRef name, ValueRange operands, Type result) {
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(result);
  return builder.create(state);
}

Item *ProgramBuilder::unary(StringRef op, Item *x) { return x ? admit(createByName(builder, nextLocation(), op, x->value, x->type()), {}, 1) : nullptr; }

Item *ProgramBuilder::binary(StringRef op, Item *x, Item *y) {
  return x && y && x->type() == y->type() ? admit(createByName(builder, nextLocation(), op, {x->value, y->value}, x->type()), {}, 1) : nullptr;
}

Item *ProgramBuilder::broadcast(Item *x, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, ArrayRef<bool> batch) {
  return x ? create<graph::BroadcastOp>(TypeRange(type(shape, x->element())), batch, 1, x->value, dims) : nullptr;
}

Item *ProgramBuilder::convert(Item *x, Type element) {
  return !x || x->element() == element ? x : make<graph::ConvertOp>(type(x->shape(), element), x->value);
}

Item *ProgramBuilder::clone(Operation *op, IRMapping &map) {
  Operation *copy = builder.clone(*op, map);
  SmallVector<bool> batch = find(op->getResult(0))->batch;
  return admit(copy, batch, 0);
}

Item *ProgramBuilder::pick(llvm::function_ref<bool(const Item &)> fits) {
  std::vector<Item *> fitting;
  for (Item *item : pool)
    if (fits(*item))
      fitting.push_back(item);
  // What came last is likelier: programs are deep rather than wide.
  if (fitting.empty())
    return nullptr;
  return fitting[std::max(random.below(fitting.size()), random.below(fitting.size()))];
}

Item *ProgramBuilder::anyFloat(int64_t minRank) {
  Item *found = pick([&](const Item &item) { return item.isFloat() && item.rank() >= minRank; });
  if (found && !random.chance(0.05))
    return found;
  SmallVector<int64_t> shape;
  for (int64_t i = 0, rank = std::max<int64_t>(minRank, random.between(1, 3)); i < rank; ++i)
    shape.push_back(size());
  return parameter(shape, f32());
}

/// A new parameter, input or constant broadcast to the type of `x`.
Item *ProgramBuilder::leafLike(Item *x) {
  bool startsWithBatch = x->rank() && x->batch.front() && llvm::count(x->batch, true) == 1;
  if (startsWithBatch && x->isFloat() && random.chance(0.3))
    return input(x->shape(), x->element(), -1.5, 1.5, true);
  if (random.chance(0.1) || !x->isFloat())
    return splat(x->shape(), x->element(), x->isFloat() ? random.real(-1.5, 1.5) : random.between(0, 1), x->batch);
  SmallVector<int64_t> shape, dims;
  for (int64_t d = 0; d < x->rank(); ++d)
    if (!x->batch[d] && random.chance(0.7)) {
      shape.push_back(x->shape()[d]);
      dims.push_back(d);
    }
  Item *leaf = random.chance(0.85) ? parameter(shape, x->element()) : denseConstant(shape, x->element(), -1.5, 1.5);
  return leaf && shape.size() != size_t(x->rank()) ? broadcast(leaf, x->shape(), dims, x->batch) : leaf;
}

Item *ProgramBuilder::like(Item *x) {
  if (!x)
    return nullptr;
  Item *found = random.chance(0.6) ? pick([&](const Item &item) { return item.type() == x->type() && item.batch == x->batch && (&item != x || random.chance(0.2)); }) : nullptr;
  return found ? found : leafLike(x);
}

Item *ProgramBuilder::positive(Item *x) {
  if (!x || llvm::all_of(x->tensor.floats, [](double element) { return element >= 0.25; }))
    return x;
  Item *square = random.chance(0.5) ? binary("graph.mul", x, x) : unary("graph.exp", bounded(x, 2));
  return square ? shift(square, 0.5) : nullptr;
}

Item *ProgramBuilder::bounded(Item *x, double limit) {
  if (!x || x->magnitude() <= limit)
    return x;
  return random.chance(0.2) ? unary("graph.tanh", x) : scale(x, 0.9 * limit / x->magnitude());
}

Item *ProgramBuilder::ids(ArrayRef<int64_t> shape, ArrayRef<bool> batch, int64_t n) {
  auto fits = [&](const Item &item) {
    return item.isInt() && item.shape() == shape && ArrayRef<bool>(item.batch) == batch && llvm::all_of(item.tensor.ints, [&](int64_t id) { return id >= 0 && id < n; });
  };
  if (Item *found = random.chance(0.5) ? pick(fits) : nullptr)
    return found;
  bool startsWithBatch = !batch.empty() && batch.front() && llvm::count(batch, true) == 1;
  if (startsWithBatch)
    return input(shape, i32(), 0, n, true);
  return llvm::is_contained(batch, true) ? nullptr : denseConstant(shape, i32(), 0, n);
}

void ProgramBuilder::finish(ArrayRef<Item *> results) {
  SmallVector<Value> values = llvm::map_to_vector(results, [](Item *item) { return item->value; });
  // A program has a terminator only now.
  auto yield = builder.create<graph::YieldOp>(nextLocation(), values);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (&op != yield && op.use_empty())
      op.erase();
  program.setType(builder.getFunctionType(program.getBody().getArgumentTypes(), ValueRange(values).getTypes()));
  for (unsigned i = 0; i < results.size(); ++i)
    program.setResultAttr(i, graph::kNameAttr, builder.getStringAttr(i ? "metric" + std::to_string(i) : "loss"));
}
