#include "OpCases.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;

namespace {
Item *anyInt(ProgramBuilder &b) {
  if (Item *found = b.pick([](const Item &item) { return item.isInt(); }))
    return found;
  SmallVector<int64_t> shape{b.size(), b.size()};
  return b.make<graph::IotaOp>(b.type(shape, b.i32()), b.builder.getI64IntegerAttr(b.random.below(2)));
}

/// A condition for elements of `x`: on positions, or on another value.
Item *condition(ProgramBuilder &b, Item *x) {
  if (!x)
    return nullptr;
  if (Item *found = b.random.chance(0.5) ? b.pick([&](const Item &item) { return item.isBool() && item.shape() == x->shape() && item.batch == x->batch; }) : nullptr)
    return found;
  auto result = b.type(x->shape(), b.builder.getI1Type());
  auto predicate = static_cast<graph::ComparePredicate>(b.random.below(6));
  if (x->rank() && b.random.chance(0.6)) {
    int64_t dim = b.random.below(x->rank());
    Item *index = b.create<graph::IotaOp>(TypeRange(b.type(x->shape(), b.i32())), x->batch, 1, b.builder.getI64IntegerAttr(dim));
    Item *limit = b.splat(x->shape(), b.i32(), b.random.below(x->shape()[dim] + 1), x->batch);
    return index && limit ? b.make<graph::CompareOp>(result, predicate, index->value, limit->value) : nullptr;
  }
  Item *other = b.like(x);
  return other ? b.make<graph::CompareOp>(result, predicate, x->value, other->value) : nullptr;
}

Item *chosen(ProgramBuilder &b) {
  Item *x = b.anyFloat(), *p = condition(b, x), *y = p ? b.like(x) : nullptr;
  return y ? b.make<graph::SelectOp>(x->type(), p->value, x->value, y->value) : nullptr;
}

/// To another type and back, or numbers made of what is none.
Item *convert(ProgramBuilder &b) {
  Item *x = b.pick([&](const Item &item) { return item.isFloat() || item.element() != b.f32(); });
  if (!x)
    return nullptr;
  if (!x->isFloat())
    return b.bounded(b.convert(x, b.f32()), 3);
  if (x->element() != b.f32())
    return b.convert(x, b.f32());
  if (b.random.chance(0.2)) {
    Item *whole = b.convert(b.unary("graph.stop_gradient", x), b.i32());
    return whole ? b.convert(whole, b.f32()) : nullptr;
  }
  return b.convert(x, b.random.pick({Type(b.builder.getBF16Type()), Type(b.builder.getF16Type()), Type(b.builder.getF64Type())}));
}

enum class Domain { Any, Small, Positive };

struct UnaryRow {
  const char *op;
  Domain domain;
};
constexpr UnaryRow unaryRows[] = {
    {"neg", Domain::Any},     {"abs", Domain::Any},      {"sign", Domain::Any},  {"exp", Domain::Small},   {"expm1", Domain::Small}, {"log", Domain::Positive},
    {"log1p", Domain::Positive}, {"sqrt", Domain::Positive}, {"rsqrt", Domain::Positive}, {"cbrt", Domain::Positive}, {"tanh", Domain::Any}, {"logistic", Domain::Any},
    {"sin", Domain::Any},     {"cos", Domain::Any},      {"erf", Domain::Any},   {"erfc", Domain::Any},    {"floor", Domain::Any},   {"ceil", Domain::Any},
    {"round_even", Domain::Any}, {"stop_gradient", Domain::Any}, {"silu", Domain::Any}};

struct BinaryRow {
  const char *op;
  Domain lhs, rhs;
  int weight;
};
constexpr BinaryRow binaryRows[] = {{"add", Domain::Any, Domain::Any, 6},      {"sub", Domain::Any, Domain::Any, 3},   {"mul", Domain::Any, Domain::Any, 6},
                                    {"div", Domain::Any, Domain::Positive, 3}, {"max", Domain::Any, Domain::Any, 2},   {"min", Domain::Any, Domain::Any, 2},
                                    {"pow", Domain::Positive, Domain::Any, 1}, {"rem", Domain::Any, Domain::Positive, 1}, {"swiglu", Domain::Any, Domain::Any, 2}};

Item *within(ProgramBuilder &b, Item *x, Domain domain) {
  switch (domain) {
  case Domain::Any:
    return x;
  case Domain::Small:
    return b.bounded(x, 2);
  case Domain::Positive:
    return b.positive(x);
  }
  llvm_unreachable("a domain");
}
} // namespace

void p3d::fuzz::addElementwiseCases(std::vector<OpCase> &cases) {
  for (const UnaryRow &row : unaryRows)
    cases.push_back({row.op, [row](ProgramBuilder &b) { return b.unary(std::string("graph.") + row.op, within(b, b.anyFloat(), row.domain)); }, 1});
  for (const BinaryRow &row : binaryRows)
    cases.push_back({row.op, [row](ProgramBuilder &b) {
                       Item *x = b.anyFloat(), *y = b.like(x);
                       if (b.random.chance(0.5))
                         std::swap(x, y);
                       return b.binary(std::string("graph.") + row.op, within(b, x, row.lhs), within(b, y, row.rhs));
                     }, row.weight});
  for (const char *op : {"add", "sub", "mul", "div", "max", "min", "rem", "and", "or", "xor", "shift_left", "shift_right"})
    cases.push_back({op, [op](ProgramBuilder &b) {
                       Item *x = anyInt(b);
                       return b.binary(std::string("graph.") + op, x, b.like(x));
                     }, 1});
  cases.push_back({"not", [](ProgramBuilder &b) {
                     Item *x = b.random.chance(0.7) ? condition(b, b.anyFloat()) : anyInt(b);
                     return b.unary("graph.not", x);
                   }, 1});
  cases.push_back({"is_finite", [](ProgramBuilder &b) {
                     Item *x = b.anyFloat();
                     return b.make<graph::IsFiniteOp>(b.type(x->shape(), b.builder.getI1Type()), x->value);
                   }, 1});
  cases.push_back({"gelu", [](ProgramBuilder &b) {
                     Item *x = b.anyFloat();
                     return b.make<graph::GeluOp>(x->type(), static_cast<graph::GeluKind>(b.random.below(2)), x->value);
                   }, 2});
  cases.push_back({"compare", [](ProgramBuilder &b) { return condition(b, b.anyFloat()); }, 1});
  cases.push_back({"select", chosen, 3});
  cases.push_back({"convert", convert, 4});
}
