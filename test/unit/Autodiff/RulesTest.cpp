// Reverse rules against central differences of the interpreter, and their table against the dialect.
#include "GradientPrograms.h"
#include "passes/Autodiff/Activity.h"
#include "passes/Autodiff/Rules.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
constexpr double kStep = 1e-5, kTolerance = 1e-6;

double lossOf(ProgramOp program, ArrayRef<Tensor> inputs) { return (*interpret(program, inputs))[0].floats[0]; }

/// Differences of the loss in each element of input `index`.
std::vector<double> differences(ProgramOp program, std::vector<Tensor> inputs, unsigned index) {
  std::vector<double> slopes;
  for (double &element : inputs[index].floats) {
    double middle = element;
    element = middle + kStep;
    double above = lossOf(program, inputs);
    element = middle - kStep;
    slopes.push_back((above - lossOf(program, inputs)) / (2 * kStep));
    element = middle;
  }
  return slopes;
}

void checkCase(const GradientCase &made, bool isInline, StringRef recompute) {
  SCOPED_TRACE(made.name + (isInline ? ", in the program" : ", in a block, recompute " + recompute.str()));
  auto module = parseModule(made.block);
  ASSERT_TRUE(module);
  std::vector<Tensor> inputs = seededInputs(*module->getOps<BlockOp>().begin());
  addProgram(*module, isInline);
  OwningOpRef<ModuleOp> original = module->clone();
  ASSERT_TRUE(succeeded(differentiate(*module, recompute)));
  FailureOr<Tensors> results = interpret(programOf(*module), inputs);
  ASSERT_TRUE(succeeded(results));
  ProgramOp program = programOf(*original);
  EXPECT_EQ((*results)[0].floats[0], lossOf(program, inputs));
  unsigned next = 1;
  for (BlockArgument argument : program.getArguments()) {
    if (!isParameter(argument))
      continue;
    const Tensor &gradient = (*results)[next++];
    auto expected = differences(program, inputs, argument.getArgNumber());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(gradient.floats[i], expected[i], kTolerance * std::max(1.0, std::fabs(expected[i])))
          << "argument " << argument.getArgNumber() << ", element " << i;
  }
  EXPECT_GT(next, 1u);
  EXPECT_EQ(next, results->size());
}
} // namespace

TEST(Rules, MatchDifferencesInTheProgram) {
  for (const GradientCase &made : gradientCases())
    checkCase(made, /*isInline=*/true, "none");
}

TEST(Rules, MatchDifferencesThroughBlocks) {
  for (const GradientCase &made : gradientCases())
    for (StringRef recompute : {"none", "selective", "full"})
      checkCase(made, /*isInline=*/false, recompute);
}

TEST(Rules, CoverTheDialect) {
  std::string blocks;
  for (const GradientCase &made : gradientCases())
    blocks += made.block;
  for (RegisteredOperationName op : testContext().getRegisteredOperations()) {
    if (op.getDialectNamespace() != "graph" || StringRef("graph.program graph.block graph.call graph.yield").contains(op.getStringRef()))
      continue;
    const RuleTable::Entry *entry = getRules().lookup(op.getTypeID());
    EXPECT_TRUE(entry) << op.getStringRef().str() << " has neither a reverse rule nor an entry that says why not";
    bool needsCase = entry && entry->kind == RuleTable::Kind::Passes;
    EXPECT_TRUE(!needsCase || StringRef(blocks).contains((op.getStringRef() + " ").str())) << op.getStringRef().str() << " has no case";
  }
}
