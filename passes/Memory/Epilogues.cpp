#include "passes/Memory/Epilogues.h"
#include "dialects/Graph/EinsumSpec.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
Operation *onlyUser(Value value) { return value.hasOneUse() ? *value.getUsers().begin() : nullptr; }

/// Whether every user of `value` but `except` comes after `place`, so that the value may be made there.
bool usersFollow(Value value, Operation *place, Operation *except = nullptr) {
  return llvm::all_of(value.getUsers(),
                      [&](Operation *user) { return user == except || place->isBeforeInBlock(user); });
}

bool isTanhGelu(Operation *op) {
  auto gelu = dyn_cast_or_null<graph::GeluOp>(op);
  return gelu && gelu.getKind() == graph::GeluKind::Tanh;
}

/// Whether the sum's dimensions are the first of its operand.
bool sumsLeading(graph::ReduceOp sum) {
  auto dims = sum.getDims();
  return !dims.empty() && dims.back() == static_cast<int64_t>(dims.size()) - 1;
}
} // namespace

Epilogues::Epilogues(Block &region, const Fusion &fusion, std::function<Type(Value)> elementOf)
    : fusion(fusion), elementOf(std::move(elementOf)) {
  for (auto product : region.getOps<graph::EinsumOp>()) {
    matchBias(product);
    matchGeluGrad(product);
  }
  for (auto product : region.getOps<graph::EinsumOp>())
    matchOperandSum(product);
}

const ProductEpilogue *Epilogues::at(Operation *op) const {
  auto found = places.find(op);
  return found == places.end() ? nullptr : &found->second;
}

void Epilogues::add(Operation *place, ProductEpilogue epilogue) {
  done.insert(epilogue.product);
  done.insert(place);
  for (Value value : {epilogue.result, epilogue.kept})
    if (value)
      done.insert(value.getDefiningOp());
  if (epilogue.sum)
    done.insert(epilogue.sum);
  places.insert({place, epilogue});
}

Value Epilogues::vectorOf(Value value) const {
  auto broadcast = value.getDefiningOp<graph::BroadcastOp>();
  if (!broadcast || !isStored(broadcast.getOperand()))
    return {};
  auto from = graph::tensorType(broadcast.getOperand()), to = graph::tensorType(value);
  int64_t leading = to.getRank() - from.getRank();
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim != leading + static_cast<int64_t>(i) || from.getDimSize(i) != to.getDimSize(dim))
      return {};
  return from.getRank() > 0 ? broadcast.getOperand() : Value();
}

void Epilogues::matchBias(graph::EinsumOp product) {
  auto sum = dyn_cast_or_null<graph::AddOp>(onlyUser(product));
  bool isFloat = isa<FloatType>(graph::tensorType(product).getElementType());
  if (!sum || !isFloat || sum.getLhs() == sum.getRhs())
    return;
  Value bias = vectorOf(sum.getLhs() == product.getResult() ? sum.getRhs() : sum.getLhs());
  if (!bias)
    return;
  bool isKept = fusion.hasMemory(sum);
  for (Operation *user : sum->getUsers())
    if (isTanhGelu(user) && fusion.hasMemory(user->getResult(0)) &&
        (isKept ? usersFollow(sum, user, user) : sum->hasOneUse()))
      return add(user,
                 {exec::Epilogue::BiasGelu, product, user->getResult(0), bias, isKept ? sum.getResult() : Value(), {}});
  if (isKept)
    add(sum, {exec::Epilogue::Bias, product, sum, bias, {}, {}});
}

void Epilogues::matchGeluGrad(graph::EinsumOp product) {
  auto grad = dyn_cast_or_null<graph::GeluGradOp>(onlyUser(product));
  bool fits = grad && grad.getKind() == graph::GeluKind::Tanh && grad.getDResult() == product.getResult() &&
              grad.getOperand() != product.getResult() && fusion.hasMemory(grad) && isStored(grad.getOperand());
  if (fits)
    add(grad, {exec::Epilogue::GeluGrad, product, grad, grad.getOperand(), {}, sumOver(grad, grad)});
}

graph::ReduceOp Epilogues::sumOver(Value operand, Value product) const {
  for (Operation *user : operand.getUsers()) {
    auto sum = dyn_cast<graph::ReduceOp>(user);
    if (sum && sum.getKind() == graph::ReduceKind::Sum && !sum->use_empty() && sumsLeading(sum) &&
        sum.getType().getRank() > 0 && !done.contains(sum) && elementOf(sum) == elementOf(product))
      return sum;
  }
  return {};
}

void Epilogues::matchOperandSum(graph::EinsumOp product) {
  auto spec = *graph::EinsumSpec::parse(product.getSpec());
  bool isFloat = isa<FloatType>(graph::tensorType(product).getElementType());
  if (done.contains(product) || !isFloat || product->use_empty())
    return;
  for (unsigned number : {0, 1}) {
    const std::string &mine = number == 0 ? spec.lhs : spec.rhs, &other = number == 0 ? spec.rhs : spec.lhs;
    graph::ReduceOp sum = sumOver(product->getOperand(number), product);
    if (!sum || !usersFollow(sum, product))
      continue;
    // The letters that are summed are those that the product sums, and the others are the operand's alone.
    bool fits = llvm::all_of(llvm::enumerate(mine), [&](auto letter) {
      bool isSummed = letter.index() < sum.getDims().size();
      bool isInOther = graph::EinsumSpec::has(other, letter.value()),
           isInResult = graph::EinsumSpec::has(spec.result, letter.value());
      return isInOther == isSummed && isInResult != isSummed;
    });
    if (fits)
      return add(product,
                 {number == 0 ? exec::Epilogue::SumLhs : exec::Epilogue::SumRhs, product, product, {}, {}, sum});
  }
}
