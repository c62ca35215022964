// Reverse rules against central differences of the interpreter, and their table against the dialect.
#include "GradientCases.h"
#include "Programs.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Autodiff/Activity.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/Rules.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
constexpr double kStep = 1e-5, kTolerance = 1e-6;

/// The sum of the products of a result's elements with those of a further input, so that each element's gradient shows.
Value weightedSum(OpBuilder &builder, Location loc, Value result, Value weight) {
  Value product = builder.create<MulOp>(loc, result, weight);
  auto type = RankedTensorType::get({}, tensorType(result).getElementType());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(result).getRank()));
  return builder.create<ReduceOp>(loc, type, ReduceKind::Sum, product, dims);
}

/// Adds to the module of block @f a program that calls it and weighs its result; with `isInline` the program has the block's body instead.
void addProgram(ModuleOp module, bool isInline) {
  BlockOp block = *module.getOps<BlockOp>().begin();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = block.getLoc();
  SmallVector<Type> inputs(block.getArgumentTypes());
  inputs.push_back(block.getResultTypes()[0]);
  auto element = tensorType(block.getBody().front().getTerminator()->getOperand(0)).getElementType();
  auto program = builder.create<ProgramOp>(loc, "loss", builder.getFunctionType(inputs, RankedTensorType::get({}, element)));
  for (unsigned i = 0; i < block.getNumArguments(); ++i)
    if (!block.getArgAttr(i, kRoleAttr))
      program.setArgAttr(i, kRoleAttr, builder.getStringAttr("param"));
  builder.setInsertionPointToStart(&program.getBody().front());
  Value result;
  if (isInline) {
    IRMapping values;
    values.map(block.getArguments(), program.getArguments().drop_back());
    for (Operation &op : block.getBody().front().without_terminator())
      builder.clone(op, values);
    result = values.lookup(block.getBody().front().getTerminator()->getOperand(0));
  } else {
    result = builder.create<CallOp>(loc, block.getResultTypes(), block.getName(), program.getArguments().drop_back(), IntegerAttr()).getResult(0);
  }
  builder.create<YieldOp>(loc, weightedSum(builder, loc, result, program.getArguments().back()));
  if (isInline)
    block.erase();
}

std::vector<Tensor> seededInputs(BlockOp block) {
  std::vector<Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(block.getArgumentTypes())) {
    double low = -2, high = 2;
    if (auto range = block.getArgAttrOfType<ArrayAttr>(i, "test.range")) {
      auto bound = [&](unsigned at) {
        auto number = dyn_cast<FloatAttr>(range[at]);
        return number ? number.getValueAsDouble() : double(cast<IntegerAttr>(range[at]).getInt());
      };
      low = bound(0), high = bound(1);
    }
    inputs.push_back(randomTensor(cast<RankedTensorType>(type), low, high, 17 + i));
  }
  inputs.push_back(randomTensor(cast<RankedTensorType>(block.getResultTypes()[0]), 0.5, 2, 99));
  return inputs;
}

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

LogicalResult differentiate(ModuleOp module, StringRef recompute) {
  PassManager manager(&testContext());
  DifferentiatePassOptions options;
  options.recompute = recompute.str();
  manager.addPass(createDifferentiatePass(options));
  return manager.run(module);
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
