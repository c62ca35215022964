#include "passes/Lower/MemoryAlignment.h"
#include "dialects/Graph/TensorBytes.h"
#include <numeric>

using namespace mlir;
using namespace p3d;
using namespace p3d::lower;

/// A number that exec.start makes; any other is a multiple of 1.
static int64_t multipleOf(Value number) {
  auto start = number.getDefiningOp<exec::StartOp>();
  return start ? std::max<int64_t>(1, start.getChunk()) : 1;
}

MemoryAlignment::MemoryAlignment(ModuleOp module) {
  module.walk([&](exec::CallOp call) { callsOf[call.getCallee()].push_back(call); });
  module.walk([&](exec::LaunchOp launch) { addLaunch(launch); });
}

int64_t MemoryAlignment::alignmentOf(Value memory) {
  if (auto found = known.find(memory); found != known.end())
    return found->second;
  int64_t bytes = exec::kAlignment;
  if (auto view = memory.getDefiningOp<exec::ViewOp>()) {
    int64_t elementBytes = graph::elementBytes(cast<MemRefType>(view.getSource().getType()));
    bytes = alignmentOf(view.getSource());
    if (view.getStart())
      bytes = std::gcd(bytes, multipleOf(view.getStart()) * static_cast<int64_t>(view.getScale()) * elementBytes);
  } else if (auto argument = dyn_cast<BlockArgument>(memory)) {
    bytes = alignmentOfArgument(argument);
  }
  known[memory] = bytes;
  return bytes;
}

int64_t MemoryAlignment::alignmentOfArgument(BlockArgument argument) {
  auto function = cast<exec::FunctionOp>(argument.getOwner()->getParentOp());
  int64_t bytes = exec::kAlignment;
  for (exec::CallOp call : callsOf.lookup(function.getSymName())) {
    unsigned number = argument.getArgNumber(), ins = call.getIns().size();
    bytes = std::gcd(bytes, alignmentOf(number < ins ? call.getIns()[number] : call.getOuts()[number - ins]));
  }
  return bytes;
}

void MemoryAlignment::addLaunch(exec::LaunchOp launch) {
  ParameterMultiples mine;
  for (Value memory : launch.getIns())
    mine.push_back(alignmentOf(memory));
  for (Value start : launch.getStarts())
    mine.push_back(multipleOf(start));
  for (Value memory : launch.getOuts())
    mine.push_back(alignmentOf(memory));
  ParameterMultiples &all = kernels.try_emplace(launch.getKernel(), mine).first->second;
  for (auto [known, here] : llvm::zip_equal(all, mine))
    known = std::gcd(known, here);
}

ParameterMultiples MemoryAlignment::parametersOf(func::FuncOp kernel) const {
  auto found = kernels.find(kernel.getName());
  return found == kernels.end() ? ParameterMultiples(kernel.getNumArguments(), 1) : found->second;
}
