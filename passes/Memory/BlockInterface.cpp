#include "passes/Memory/BlockInterface.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

Value p3d::memory::throughReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

SmallVector<BlockResult> p3d::memory::blockResults(graph::BlockOp block) {
  SmallVector<BlockResult> results;
  DenseMap<Value, unsigned> seen;
  unsigned outs = 0;
  for (auto [i, value] : llvm::enumerate(block.getBody().front().getTerminator()->getOperands())) {
    Value source = throughReshapes(value);
    auto earlier = seen.find(source);
    if (auto argument = dyn_cast<BlockArgument>(source))
      results.push_back({BlockResult::Argument, argument.getArgNumber()});
    else if (earlier != seen.end())
      results.push_back({BlockResult::Result, earlier->second});
    else
      results.push_back({BlockResult::Out, outs++});
    seen.try_emplace(source, i);
  }
  return results;
}
