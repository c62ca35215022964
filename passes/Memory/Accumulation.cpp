#include "passes/Memory/Accumulation.h"
#include "passes/Memory/BlockInterface.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

pipe::BufferOp Accumulation::bufferOf(pipe::AccumulateOp op) {
  return symbols.lookupSymbolIn<pipe::BufferOp>(op->getParentOfType<pipe::StageOp>(), op.getBufferAttr().getAttr());
}

bool p3d::memory::takesParts(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() >= 32;
}

pipe::AccumulateOp Accumulation::onlyAccumulate(Value value) {
  if (!value.hasOneUse())
    return {};
  auto op = dyn_cast<pipe::AccumulateOp>(*value.getUsers().begin());
  pipe::BufferOp buffer = op ? bufferOf(op) : pipe::BufferOp();
  return buffer && takesParts(buffer.getTensorType().getElementType()) ? op : pipe::AccumulateOp();
}

Accumulation::Accumulation(ModuleOp module) {
  module.walk([&](graph::CallOp call) {
    if (auto block = symbols.lookupSymbolIn<graph::BlockOp>(module, call.getCalleeAttr().getAttr()))
      add(call, block);
  });
}

void Accumulation::add(graph::CallOp call, graph::BlockOp block) {
  auto results = blockResults(block);
  auto [entry, isFirst] = elements.try_emplace(block, SmallVector<Type>(call.getNumResults()));
  llvm::SmallSet<StringRef, 8> buffers; // two results must not be added to one buffer by one call
  for (auto [i, value] : llvm::enumerate(call.getResults())) {
    auto accumulate = results[i].kind == BlockResult::Out ? onlyAccumulate(value) : pipe::AccumulateOp();
    Type element = accumulate && buffers.insert(accumulate.getBuffer()).second
                       ? bufferOf(accumulate).getTensorType().getElementType()
                       : Type();
    Type &known = entry->second[i];
    known = isFirst || known == element ? element : Type();
  }
  // A result that a later one repeats is needed as it is.
  for (const BlockResult &result : results)
    if (result.kind == BlockResult::Result)
      entry->second[result.index] = Type();
}

Type Accumulation::elementOf(Operation *block, unsigned number) const {
  auto entry = elements.find(block);
  return entry == elements.end() ? Type() : entry->second[number];
}
