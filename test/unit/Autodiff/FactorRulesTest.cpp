// Every operation of the graph dialect, whole and in parts: each factor of its rule that may be cut is cut, and what the parts give has to be what the
// whole gives. Where the rule says that the operation is linear, it is applied to partial sums too. The operations are those of the gradient cases, forward
// and backward, and of the programs below for what has no gradient.
#include "GradientPrograms.h"
#include "Shards.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// An operation and the values of its operands and results.
struct Sample {
  Operation *op;
  std::vector<Tensor> operands;
  Tensors results;
};

/// What the cases of gradients leave out.
const char *const kOtherOperations = R"(
  graph.program @p(%x: tensor<4x6xf32>, %i: tensor<4x6xi32>, %u: tensor<4x6xi32>, %t: tensor<4xi32>) -> tensor<4x6xf32> {
    %n = graph.not %i : tensor<4x6xi32>
    %a = graph.and %i, %u : tensor<4x6xi32>
    %o = graph.or %i, %u : tensor<4x6xi32>
    %e = graph.xor %i, %u : tensor<4x6xi32>
    %l = graph.shift_left %i, %u : tensor<4x6xi32>
    %r = graph.shift_right %i, %u : tensor<4x6xi32>
    %s = graph.sign %x : tensor<4x6xf32>
    %c = graph.ceil %x : tensor<4x6xf32>
    %v = graph.round_even %x : tensor<4x6xf32>
    %f = graph.is_finite %x : (tensor<4x6xf32>) -> tensor<4x6xi1>
    %g = graph.stop_gradient %x : tensor<4x6xf32>
    %m = graph.cross_entropy_max %x : (tensor<4x6xf32>) -> tensor<4xf32>
    %sum, %target = graph.cross_entropy_sum %x, %t, %m : (tensor<4x6xf32>, tensor<4xi32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %all = graph.reduce and %f dims [1] : (tensor<4x6xi1>) -> tensor<4xi1>
    %any = graph.reduce or %f dims [0] : (tensor<4x6xi1>) -> tensor<6xi1>
    graph.yield %x : tensor<4x6xf32>
  })";

/// The operations of a program as it runs on `inputs`.
std::vector<Sample> samplesOf(ProgramOp program, ArrayRef<Tensor> inputs) {
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, input] : llvm::zip(program.getArguments(), inputs))
    values[argument] = input;
  std::vector<Sample> samples;
  InterpretOptions options;
  options.observe = [&](Operation *op, ArrayRef<Tensor> results) {
    for (auto [value, result] : llvm::zip(op->getResults(), results))
      values[value] = result;
    std::vector<Tensor> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values[operand]);
    samples.push_back({op, operands, results.vec()});
  };
  EXPECT_TRUE(succeeded(interpret(program, inputs, options)));
  return samples;
}

/// Calls `check` for each operation of all cases.
void forEachSample(llvm::function_ref<void(const Sample &)> check) {
  for (const GradientCase &made : gradientCases()) {
    if (made.name == "shared values") // 60 times the same two
      continue;
    SCOPED_TRACE(made.name);
    auto module = parseModule(made.block);
    std::vector<Tensor> inputs = seededInputs(*module->getOps<BlockOp>().begin());
    addProgram(*module, /*isInline=*/true);
    ASSERT_TRUE(succeeded(differentiate(*module, "none")));
    for (const Sample &sample : samplesOf(programOf(*module), inputs))
      check(sample);
  }
  auto module = parseModule(kOtherOperations);
  std::vector<Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(programOf(*module).getArgumentTypes()))
    inputs.push_back(randomTensor(cast<RankedTensorType>(type), i == 0 ? -3 : 0, 6, 5 + i));
  for (const Sample &sample : samplesOf(programOf(*module), inputs))
    check(sample);
}

void expectSame(const Tensors &found, const Tensors &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (auto [a, b] : llvm::zip(found, expected)) {
    ASSERT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.ints, b.ints);
    for (auto [x, y] : llvm::zip(a.floats, b.floats))
      EXPECT_TRUE(x == y || std::fabs(x - y) <= 1e-9 * std::max(1.0, std::fabs(y))) << x << " instead of " << y;
  }
}

/// Each tensor's dimensions are the products of their factors.
void checkSizes(const FactorRule &rule, ArrayRef<TensorFactors> tensors, ArrayRef<Tensor> values) {
  ASSERT_EQ(tensors.size(), values.size());
  for (auto [dims, value] : llvm::zip(tensors, values)) {
    ASSERT_EQ(dims.size(), value.shape.size());
    for (auto [factors, size] : llvm::zip(dims, value.shape)) {
      int64_t product = 1;
      for (int factor : factors)
        product *= rule.factors[factor].size;
      ASSERT_EQ(product, size);
    }
  }
}

/// Whether `factor` is the major one wherever it stands, without which it is not cut.
bool isMajor(const FactorRule &rule, int factor) {
  for (const TensorFactors &dims : llvm::concat<const TensorFactors>(rule.operands, rule.results))
    for (const DimFactors &dim : dims)
      if (llvm::is_contained(dim, factor) && dim.front() != factor)
        return false;
  return true;
}

/// Applies the operation to two summands of each of `linear` and adds up.
void checkLinear(const Sample &sample, const FactorRule &rule, ArrayRef<unsigned> linear) {
  std::vector<Tensor> first = sample.operands, second = sample.operands;
  for (unsigned i : linear) {
    if (!first[i].isFloat())
      return;
    first[i] = randomTensor(first[i].type(), -1, 1, 31 + i);
    for (auto [a, b] : llvm::zip(first[i].floats, second[i].floats))
      b -= a;
  }
  Tensors sum = evaluateLocally(sample.op, rule, -1, 1, first), rest = evaluateLocally(sample.op, rule, -1, 1, second);
  for (auto [to, from] : llvm::zip(sum, rest))
    for (auto [a, b] : llvm::zip(to.floats, from.floats))
      a += b;
  expectSame(sum, sample.results);
}

bool isFinite(const Sample &sample) {
  return llvm::all_of(sample.operands, [](const Tensor &operand) {
    return llvm::all_of(operand.floats, [](double x) { return std::isfinite(x); });
  });
}
} // namespace

TEST(FactorRules, PartsGiveTheWhole) {
  forEachSample([](const Sample &sample) {
    if (isa<UpdateOp, YieldOp>(sample.op))
      return;
    SCOPED_TRACE(sample.op->getName().getStringRef().str());
    FactorRule rule = getFactorRule(sample.op);
    checkSizes(rule, rule.operands, sample.operands);
    checkSizes(rule, rule.results, sample.results);
    if (testing::Test::HasFatalFailure())
      return;
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      SCOPED_TRACE("factor " + std::to_string(f));
      // With `dist.shard` the operation is one of the partitioned program, which runs on the target only.
      if (factor.cuttable && !factor.positional && isMajor(rule, f))
        expectSame(evaluateInParts(sample.op, rule, f, sample.operands), sample.results);
    }
  });
}

TEST(FactorRules, LinearOperationsTakePartialSums) {
  forEachSample([](const Sample &sample) {
    if (isa<UpdateOp, YieldOp>(sample.op) || !isFinite(sample))
      return;
    SCOPED_TRACE(sample.op->getName().getStringRef().str());
    FactorRule rule = getFactorRule(sample.op);
    Linearity linearity = getLinearity(sample.op);
    switch (linearity.kind) {
    case Linearity::None:
      return;
    case Linearity::Joint:
      return checkLinear(sample, rule, linearity.operands);
    case Linearity::Each:
      for (unsigned operand : linearity.operands)
        checkLinear(sample, rule, operand);
    }
  });
}

TEST(FactorRules, CoverTheDialect) {
  std::set<std::string> seen{"graph.program", "graph.block", "graph.call", "graph.yield", "graph.update"};
  forEachSample([&](const Sample &sample) { seen.insert(sample.op->getName().getStringRef().str()); });
  for (RegisteredOperationName op : testContext().getRegisteredOperations()) {
    bool isGraph = op.getDialectNamespace() == "graph";
    EXPECT_TRUE(!isGraph || seen.count(op.getStringRef().str())) << op.getStringRef().str() << " is in no case";
  }
}
