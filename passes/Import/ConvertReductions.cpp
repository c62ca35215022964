// Reductions, running reductions, sorts and top-k: operations whose region has to be understood.
#include "passes/Import/Translation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {
/// The truth value behind select(x, true, false), as some exporters write every logical result.
Value withoutTrivialSelect(Value value) {
  auto isBool = [](Value constant, bool expected) {
    DenseElementsAttr elements;
    Attribute attribute;
    Operation *op = constant.getDefiningOp();
    if (!op || !(attribute = op->getAttr("value")) || !(elements = dyn_cast<DenseElementsAttr>(attribute)))
      return false;
    return elements.isSplat() && elements.getElementType().isInteger(1) && elements.getSplatValue<bool>() == expected;
  };
  auto select = value.getDefiningOp<stablehlo::SelectOp>();
  return select && isBool(select.getOnTrue(), true) && isBool(select.getOnFalse(), false) ? select.getPred() : value;
}
} // namespace

Operation *p3d::import::singleCombiner(Region &region) {
  Block &block = region.front();
  Operation *terminator = block.getTerminator();
  if (block.getNumArguments() != 2 || terminator->getNumOperands() != 1)
    return nullptr;
  Operation *op = withoutTrivialSelect(terminator->getOperand(0)).getDefiningOp();
  if (!op || op->getNumResults() != 1 || op->getNumOperands() != 2)
    return nullptr;
  Value a = block.getArgument(0), b = block.getArgument(1);
  bool inOrder = op->getOperand(0) == a && op->getOperand(1) == b;
  bool swapped = op->getOperand(0) == b && op->getOperand(1) == a;
  return inOrder || swapped ? op : nullptr;
}

namespace {

std::optional<graph::ReduceKind> kindOf(Operation *combiner) {
  using Result = std::optional<graph::ReduceKind>;
  if (!combiner)
    return std::nullopt;
  return TypeSwitch<Operation *, Result>(combiner)
      .Case<stablehlo::AddOp>([](auto) { return graph::ReduceKind::Sum; })
      .Case<stablehlo::MaxOp>([](auto) { return graph::ReduceKind::Max; })
      .Case<stablehlo::MinOp>([](auto) { return graph::ReduceKind::Min; })
      .Case<stablehlo::MulOp>([](auto) { return graph::ReduceKind::Prod; })
      .Case<stablehlo::AndOp>([](auto) { return graph::ReduceKind::And; })
      .Case<stablehlo::OrOp>([](auto) { return graph::ReduceKind::Or; })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

bool isExtreme(const APInt &value, bool largest, IntegerType type) {
  if (type.isUnsigned() || type.getWidth() == 1)
    return largest ? value.isMaxValue() : value.isMinValue();
  return largest ? value.isMaxSignedValue() : value.isMinSignedValue();
}

/// Whether `init` leaves every element as it is when combined by `kind`.
bool isNeutral(Value init, graph::ReduceKind kind) {
  DenseElementsAttr attribute;
  if (!matchPattern(init, m_Constant(&attribute)) || !attribute.isSplat())
    return false;
  if (auto integer = dyn_cast<IntegerType>(attribute.getElementType())) {
    APInt value = attribute.getSplatValue<APInt>();
    switch (kind) {
    case graph::ReduceKind::Sum:
    case graph::ReduceKind::Or:
      return value.isZero();
    case graph::ReduceKind::Prod:
      return value.isOne();
    case graph::ReduceKind::And:
      return value.isAllOnes();
    case graph::ReduceKind::Max:
    case graph::ReduceKind::Min:
      return isExtreme(value, kind == graph::ReduceKind::Min, integer);
    }
  }
  APFloat value = attribute.getSplatValue<APFloat>();
  switch (kind) {
  case graph::ReduceKind::Sum:
    return value.isZero();
  case graph::ReduceKind::Prod:
    return value.isExactlyValue(1.0);
  case graph::ReduceKind::Max:
    return value.isInfinity() && value.isNegative();
  case graph::ReduceKind::Min:
    return value.isInfinity() && !value.isNegative();
  case graph::ReduceKind::And:
  case graph::ReduceKind::Or:
    return false;
  }
  llvm_unreachable("all kinds are handled");
}

Value combine(Translation &t, Location loc, graph::ReduceKind kind, Value a, Value b) {
  Type type = a.getType();
  switch (kind) {
  case graph::ReduceKind::Sum:
    return t.create<graph::AddOp>(loc, type, a, b);
  case graph::ReduceKind::Max:
    return t.create<graph::MaxOp>(loc, type, a, b);
  case graph::ReduceKind::Min:
    return t.create<graph::MinOp>(loc, type, a, b);
  case graph::ReduceKind::Prod:
    return t.create<graph::MulOp>(loc, type, a, b);
  case graph::ReduceKind::And:
    return t.create<graph::AndOp>(loc, type, a, b);
  case graph::ReduceKind::Or:
    return t.create<graph::OrOp>(loc, type, a, b);
  }
  llvm_unreachable("all kinds are handled");
}

/// Whether the region keeps the larger of two values with its index: how argmax is exported.
bool looksLikeArgmax(Region &region) {
  bool compares = false, selects = false;
  for (Operation &op : region.front()) {
    compares |= isa<stablehlo::CompareOp>(op);
    selects |= isa<stablehlo::SelectOp>(op);
  }
  return compares && selects;
}

LogicalResult convertReduce(stablehlo::ReduceOp op, Translation &t) {
  if (op.getInputs().size() != 1)
    return op.emitOpError() << "reduces " << op.getInputs().size() << " tensors at once"
                            << (looksLikeArgmax(op.getBody()) ? " (an argmax or argmin)" : "")
                            << "; expected one, as sums, maxima and minima are";
  std::optional<graph::ReduceKind> kind = kindOf(singleCombiner(op.getBody()));
  if (!kind)
    return op.emitOpError() << "combines elements by something else than one add, maximum, minimum, multiply, and, or; write it by these";
  Value operand = t.get(op.getInputs().front()), init = t.get(op.getInitValues().front());
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<int64_t> dims(op.getDimensions());
  llvm::sort(dims);
  Value result = operand;
  if (!dims.empty())
    result = t.create<graph::ReduceOp>(op.getLoc(), type, *kind, operand, t.builder.getDenseI64ArrayAttr(dims));
  if (!isNeutral(init, *kind))
    result = combine(t, op.getLoc(), *kind, result, broadcast(t.builder, op.getLoc(), init, type.getShape(), {}));
  t.bind(op.getResult(0), result);
  return success();
}

/// A running reduction: one dimension has a window of its whole size, padded in front (or behind) by all of it but one.
LogicalResult convertReduceWindow(stablehlo::ReduceWindowOp op, Translation &t) {
  auto refuse = [&] {
    return op.emitOpError() << "is no running sum, maximum, minimum or product along one dimension, the only windows that are taken";
  };
  auto allOnes = [](std::optional<Dims> dims) { return !dims || llvm::all_of(*dims, [](int64_t d) { return d == 1; }); };
  std::optional<graph::ReduceKind> kind = kindOf(singleCombiner(op.getBody()));
  if (op.getInputs().size() != 1 || !kind || !isNeutral(t.get(op.getInitValues().front()), *kind) ||
      !allOnes(op.getWindowStrides()) || !allOnes(op.getBaseDilations()) || !allOnes(op.getWindowDilations()))
    return refuse();
  Value operand = t.get(op.getInputs().front());
  auto type = graph::tensorType(operand);
  SmallVector<int64_t> padding(2 * type.getRank(), 0);
  if (op.getPadding())
    padding.assign(op.getPadding()->value_begin<int64_t>(), op.getPadding()->value_end<int64_t>());
  std::optional<int64_t> along;
  bool reverse = false;
  for (auto [dim, window] : llvm::enumerate(op.getWindowDimensions())) {
    int64_t low = padding[2 * dim], high = padding[2 * dim + 1];
    if (window == 1 && low == 0 && high == 0)
      continue;
    if (along || window != type.getDimSize(dim) || low + high != window - 1 || (low != 0 && high != 0))
      return refuse();
    along = dim;
    reverse = high != 0;
  }
  if (along)
    operand = t.create<graph::CumulativeOp>(op.getLoc(), type, *kind, operand, *along, reverse);
  t.bind(op.getResult(0), operand);
  return success();
}

//===--------------------------------------------------------------------------------------------------------------===//
// Sorts
//===--------------------------------------------------------------------------------------------------------------===//

/// The direction of a comparator that orders by its first operand alone: the compare whose leaves are the first two arguments.
std::optional<bool> isDescending(Region &comparator) {
  Block &block = comparator.front();
  auto compare = block.getTerminator()->getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare)
    return std::nullopt;
  // JAX maps -0 to 0 and every NaN to one before it compares; the argument is still the only one behind the value.
  auto argumentBehind = [&](Value value) -> std::optional<unsigned> {
    SmallVector<Value> worklist{value};
    std::optional<unsigned> found;
    while (!worklist.empty()) {
      Value next = worklist.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(next)) {
        if (argument.getOwner() != &block || (found && *found != argument.getArgNumber()))
          return std::nullopt;
        found = argument.getArgNumber();
      } else if (Operation *op = next.getDefiningOp(); isa<stablehlo::SelectOp, stablehlo::CompareOp>(op)) {
        llvm::append_range(worklist, op->getOperands());
      } else if (!isa<stablehlo::ConstantOp>(op)) {
        return std::nullopt;
      }
    }
    return found;
  };
  std::optional<unsigned> lhs = argumentBehind(compare.getLhs()), rhs = argumentBehind(compare.getRhs());
  if (!lhs || !rhs || *lhs + *rhs != 1)
    return std::nullopt;
  auto direction = compare.getComparisonDirection();
  bool less = direction == stablehlo::ComparisonDirection::LT, greater = direction == stablehlo::ComparisonDirection::GT;
  if (!less && !greater)
    return std::nullopt;
  return greater == (*lhs == 0);
}

/// Sorts the first operand; the others follow by gathering with its permutation.
LogicalResult convertSort(stablehlo::SortOp op, Translation &t) {
  std::optional<bool> descending = isDescending(op.getBody());
  if (!descending)
    return op.emitOpError() << "orders by something else than LT or GT of its first operand; sort by one key";
  Location loc = op.getLoc();
  Value keys = t.get(op.getInputs().front());
  int64_t rank = graph::tensorType(keys).getRank(), last = rank - 1;
  int64_t dim = op.getDimension() < 0 ? op.getDimension() + rank : op.getDimension();
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(swap[dim], swap[last]);
  keys = transpose(t.builder, loc, keys, swap);
  auto indexType = graph::tensorType(keys).clone(t.builder.getI32Type());
  auto sort = t.create<graph::SortOp>(loc, keys.getType(), indexType, keys, *descending);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    Value sorted = sort.getValues();
    if (i > 0) {
      Value rows = transpose(t.builder, loc, t.get(input), swap);
      sorted = t.create<graph::GatherOp>(loc, rows.getType(), rows, sort.getIndices(), last, last);
    }
    t.bind(op.getResult(i), transpose(t.builder, loc, sorted, swap));
  }
  return success();
}

LogicalResult convertTopK(chlo::TopKOp op, Translation &t) {
  auto topK = t.create<graph::TopKOp>(op.getLoc(), op.getValues().getType(), op.getIndices().getType(), t.get(op.getOperand()),
                                      op.getK());
  t.bind(op.getValues(), topK.getValues());
  t.bind(op.getIndices(), topK.getIndices());
  return success();
}

} // namespace

void p3d::import::addReductionConverters(ConverterTable &table) {
  table.add<stablehlo::ReduceOp>(convertReduce);
  table.add<stablehlo::ReduceWindowOp>(convertReduceWindow);
  table.add<stablehlo::SortOp>(convertSort);
  table.add<chlo::TopKOp>(convertTopK);
}
