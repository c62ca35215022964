#include "GradientPrograms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Autodiff/Passes.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// The sum of the products of a result's elements with those of a further input, so that each element's gradient shows.
Value weightedSum(OpBuilder &builder, Location loc, Value result, Value weight) {
  Value product = builder.create<MulOp>(loc, result, weight);
  auto type = RankedTensorType::get({}, tensorType(result).getElementType());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(result).getRank()));
  return builder.create<ReduceOp>(loc, type, ReduceKind::Sum, product, dims);
}
} // namespace

void p3d::addProgram(ModuleOp module, bool isInline) {
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
    result = builder.create<CallOp>(loc, block.getResultTypes(), block.getName(), program.getArguments().drop_back(), builder.getI64IntegerAttr(0)).getResult(0);
  }
  builder.create<YieldOp>(loc, weightedSum(builder, loc, result, program.getArguments().back()));
  if (isInline)
    block.erase();
}

std::vector<Tensor> p3d::seededInputs(BlockOp block) {
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

LogicalResult p3d::differentiate(ModuleOp module, StringRef recompute) {
  PassManager manager(&testContext());
  DifferentiatePassOptions options;
  options.recompute = recompute.str();
  manager.addPass(createDifferentiatePass(options));
  return manager.run(module);
}
