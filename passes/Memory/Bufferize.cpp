// Blocks and stages to functions and programs; RegionBufferizer does their bodies.
#include "passes/Memory/Passes.h"
#include "passes/Memory/RegionBufferizer.h"
#include "passes/Memory/StageBufferizer.h"

namespace p3d::memory {
#define GEN_PASS_DEF_BUFFERIZE
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// The function of a block: its arguments, then the results that are memory of the caller.
class BlockBufferizer {
public:
  BlockBufferizer(graph::BlockOp block, KernelLibrary &kernels, SymbolTable &symbols, const Accumulation &accumulation,
                  bool hasEpilogues)
      : block(block), body(block.getBody().front()), results(blockResults(block)), kernels(kernels), symbols(symbols),
        accumulation(accumulation), hasEpilogues(hasEpilogues) {}

  LogicalResult run() {
    exec::FunctionOp function = createFunction();
    Block &to = function.getBody().front();
    RegionBufferizer region(body, kernels, symbols, accumulation, hasEpilogues, OpBuilder::atBlockEnd(&to));
    for (auto [from, memory] : llvm::zip(body.getArguments(), to.getArguments()))
      region.bind(from, memory);
    auto outs = to.getArguments().drop_front(body.getNumArguments());
    auto values = body.getTerminator()->getOperands();
    SmallVector<unsigned> copies;
    for (auto [i, result] : llvm::enumerate(results))
      if (result.kind == BlockResult::Out &&
          !(addsTo(i) ? region.placeSum(values[i], outs[result.index]) : region.place(values[i], outs[result.index])))
        copies.push_back(i);
    for (Operation &op : body.without_terminator())
      if (failed(region.bufferize(&op)))
        return failure();
    for (unsigned i : copies)
      if (failed(region.store(block.getLoc(), values[i], outs[results[i].index], elementOfOut(i),
                              addsTo(i) ? Store::Add : Store::Set)))
        return failure();
    return success();
  }

private:
  /// Whether the function adds result `i` to its out.
  bool addsTo(unsigned i) { return accumulation.elementOf(block, i) != nullptr; }
  Type elementOfOut(unsigned i) {
    return addsTo(i) ? accumulation.elementOf(block, i) : cast<RankedTensorType>(block.getResultTypes()[i]).getElementType();
  }

  exec::FunctionOp createFunction() {
    SmallVector<Type> types;
    for (Type type : block.getArgumentTypes())
      types.push_back(exec::memoryType(cast<RankedTensorType>(type)));
    int64_t outs = 0;
    for (auto [i, result] : llvm::enumerate(results))
      if (result.kind == BlockResult::Out) {
        types.push_back(exec::memoryType(cast<RankedTensorType>(block.getResultTypes()[i]).clone(elementOfOut(i))));
        ++outs;
      }
    OpBuilder builder(block);
    auto function = builder.create<exec::FunctionOp>(block.getLoc(), block.getSymNameAttr(),
                                                     TypeAttr::get(builder.getFunctionType(types, {})),
                                                     builder.getI64IntegerAttr(outs), IntegerAttr(), ArrayAttr(), ArrayAttr());
    Block *entry = builder.createBlock(&function.getBody());
    for (Type type : types)
      entry->addArgument(type, block.getLoc());
    return function;
  }

  graph::BlockOp block;
  Block &body;
  SmallVector<BlockResult> results;
  KernelLibrary &kernels;
  SymbolTable &symbols;
  const Accumulation &accumulation;
  bool hasEpilogues;
};

struct Bufferize : memory::impl::BufferizeBase<Bufferize> {
  using BufferizeBase::BufferizeBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    KernelLibrary kernels(module);
    Accumulation accumulation(module);
    SmallVector<Operation *> done;
    for (auto block : llvm::make_early_inc_range(module.getOps<graph::BlockOp>())) {
      if (failed(BlockBufferizer(block, kernels, symbols, accumulation, epilogues).run()))
        return signalPassFailure();
      done.push_back(block);
    }
    for (auto stage : llvm::make_early_inc_range(module.getOps<pipe::StageOp>())) {
      if (failed(bufferizeStage(stage, kernels, symbols, accumulation, {receivesAhead, epilogues})))
        return signalPassFailure();
      done.push_back(stage);
    }
    for (Operation *op : done)
      op->erase();
  }
};
} // namespace
