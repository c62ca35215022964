// Kernels as GPU functions: a thread for each result or for some neighbours, or a block for each where much is summed
// into few; see Passes.td.
#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/KernelMapping.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/VectorForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace p3d::lower {
#define GEN_PASS_DEF_MAPKERNELS
#include "passes/Lower/Passes.h.inc"
} // namespace p3d::lower

using namespace mlir;
using namespace p3d;
using namespace p3d::lower;

namespace {
constexpr int64_t kThreads = 256, kColumns = 32;
/// A sum of at least so many elements is worth a block, if there are not results enough to fill a GPU with threads.
constexpr int64_t kLongSum = 128, kManyResults = 1 << 14;

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

/// Part of a kernel: constants and views, perhaps a fill, and one linalg.generic; or a nest of loops, the outer ones without results, in which a running sum is the
/// innermost.
struct Work {
  SmallVector<Operation *> prefix;
  Operation *body = nullptr;
  int64_t width = 1; ///< neighbouring results of a thread
};

/// One kernel of one work, or of several that are independent: each then has its own blocks.
class KernelMapper {
public:
  KernelMapper(func::FuncOp source, gpu::GPUModuleOp module, const ParameterMultiples &multiples)
      : source(source), module(module), loc(source.getLoc()), builder(OpBuilder::atBlockEnd(module.getBody())) {
    Work work;
    for (Operation &op : source.getBody().front().without_terminator()) {
      if (!isa<linalg::GenericOp, scf::ForOp>(op)) {
        work.prefix.push_back(&op);
        continue;
      }
      work.body = &op;
      if (auto generic = dyn_cast<linalg::GenericOp>(op))
        work.width = vectorWidth(generic, multiples);
      works.push_back(std::exchange(work, {}));
    }
  }

  /// Blocks and threads.
  FailureOr<std::pair<int64_t, int64_t>> map() {
    if (works.empty())
      return source.emitOpError() << "holds neither a linalg.generic nor a loop; expected a kernel of the memory level";
    builder.setInsertionPoint(module.getBody()->getTerminator());
    kernel = builder.create<gpu::GPUFuncOp>(loc, source.getName(), typeWithBytes(source.getFunctionType(), parametersOfVectors()));
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    home = &kernel.getBody().front();
    goHome();
    for (auto [from, to] : llvm::zip(source.getArguments(), kernel.getArguments()))
      mapping.map(from, from.getType() == to.getType()
                            ? Value(to)
                            : builder.create<memref::ViewOp>(loc, from.getType(), to, index(0), ValueRange()));
    std::pair<int64_t, int64_t> all(0, 0);
    for (const Work &work : works) {
      firstBlock = all.first;
      works.size() == 1 ? mapWork(work) : mapWithinBlocks(work);
      all = {all.first + blocks, std::max(all.second, threads)};
    }
    builder.create<gpu::ReturnOp>(loc);
    return all;
  }

private:
  /// Memories that works of more than one neighbour use.
  llvm::BitVector parametersOfVectors() {
    llvm::BitVector found(source.getNumArguments());
    for (const Work &work : works) {
      if (work.width == 1)
        continue;
      markParameters(work.body, found);
      for (Operation *op : work.prefix)
        markParameters(op, found);
    }
    return found;
  }
  void markParameters(Operation *op, llvm::BitVector &found) {
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand); argument && argument.getOwner() == &source.getBody().front())
        found.set(argument.getArgNumber());
  }

  /// The builder goes where the next work, or the end, comes.
  void goHome() {
    bool isEnded = !home->empty() && home->back().hasTrait<OpTrait::IsTerminator>();
    isEnded ? builder.setInsertionPoint(&home->back()) : builder.setInsertionPointToEnd(home);
  }

  /// Only blocks from `firstBlock` on do the work, as many as it takes.
  void mapWithinBlocks(const Work &work) {
    Value block = builder.create<gpu::BlockIdOp>(loc, gpu::Dimension::x);
    auto last = builder.create<arith::ConstantIndexOp>(loc, 0);
    Value inside = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, block, last);
    if (firstBlock > 0)
      inside = builder.create<arith::AndIOp>(loc, inside, builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, block, index(firstBlock)));
    auto guard = builder.create<scf::IfOp>(loc, inside, /*withElseRegion=*/false);
    Block *outside = std::exchange(home, guard.thenBlock());
    goHome();
    mapWork(work);
    last.setValueAttr(builder.getIndexAttr(firstBlock + blocks - 1));
    home = outside;
    goHome();
  }

  void mapWork(const Work &work) {
    start = columnInside = Value();
    addsToOut = false;
    width = work.width;
    for (Operation *op : work.prefix) {
      if (auto fill = dyn_cast<linalg::FillOp>(op)) // the start of the sum
        start = mapping.lookup(fill.getInputs()[0]);
      else
        builder.clone(*op, mapping);
    }
    if (auto generic = dyn_cast<linalg::GenericOp>(work.body))
      width > 1 ? mapVectors(generic) : mapGeneric(generic);
    else
      mapLoops(cast<scf::ForOp>(work.body));
  }

  Value index(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }
  Value threadId() { return builder.create<gpu::ThreadIdOp>(loc, gpu::Dimension::x); }
  /// Among the blocks of this work.
  Value blockId() {
    Value block = builder.create<gpu::BlockIdOp>(loc, gpu::Dimension::x);
    return firstBlock > 0 ? builder.create<arith::SubIOp>(loc, block, index(firstBlock)).getResult() : block;
  }

  /// The number of this thread's work item among `count`; the builder is where only threads that have one come.
  Value beginItem(int64_t count) {
    threads = works.size() > 1 ? kThreads : std::min<int64_t>(kThreads, llvm::alignTo(count, 32));
    blocks = llvm::divideCeil(count, threads);
    Value item = builder.create<arith::AddIOp>(loc, builder.create<arith::MulIOp>(loc, blockId(), index(threads)), threadId());
    if (blocks * threads != count) {
      Value inside = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, item, index(count));
      auto guard = builder.create<scf::IfOp>(loc, inside, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(guard.thenBlock());
    }
    return item;
  }

  /// `item` as positions in loops of `sizes`, the last the fastest.
  SmallVector<Value> delinearize(Value item, ArrayRef<int64_t> sizes) {
    SmallVector<Value> positions(sizes.size());
    for (int64_t i = int64_t(sizes.size()) - 1; i >= 0; --i) {
      bool isLast = i == 0;
      positions[i] = isLast ? item : builder.create<arith::RemUIOp>(loc, item, index(sizes[i])).getResult();
      if (!isLast)
        item = builder.create<arith::DivUIOp>(loc, item, index(sizes[i]));
    }
    return positions;
  }

  void mapGeneric(linalg::GenericOp generic) {
    SmallVector<int64_t> sizes = generic.getStaticLoopRanges(), outer, inner;
    SmallVector<unsigned> parallel, reduced;
    for (auto [loop, size] : llvm::enumerate(sizes)) {
      bool isParallel = generic.getIteratorTypesArray()[loop] == utils::IteratorType::parallel;
      (isParallel ? parallel : reduced).push_back(loop);
      (isParallel ? outer : inner).push_back(size);
    }
    positions.assign(sizes.size(), Value());
    int64_t results = product(outer), summed = product(inner);
    Operation *combiner = combinerOf(generic);
    bool isLong = summed >= kLongSum && results < kManyResults && startSum(generic, combiner);
    bool byColumns = isLong && !outer.empty() && outer.back() >= kColumns && parallel.back() > reduced.back();
    Value item;
    if (byColumns)
      item = beginColumns(results);
    else
      item = isLong ? blockId() : beginItem(results);
    for (auto [loop, position] : llvm::zip(parallel, delinearize(item, outer)))
      positions[loop] = position;
    if (isLong)
      sumTogether(generic, reduced, inner, byColumns ? results : 0, combiner);
    else
      sumByThread(generic, reduced);
    goHome();
  }

  /// A thread for `width` neighbours: vectors are loaded, each neighbour is computed as it would be alone, and a vector
  /// is stored.
  void mapVectors(linalg::GenericOp generic) {
    SmallVector<int64_t> groups = generic.getStaticLoopRanges();
    groups.back() /= width;
    SmallVector<Value> group = delinearize(beginItem(product(groups)), groups);
    VectorOperand::Place place{kernel.getArguments(), mapping, group, width};
    positions = group;
    SmallVector<SmallVector<Value>> inputs;
    for (OpOperand *operand : generic.getDpsInputOperands()) {
      VectorOperand vector(generic, *operand);
      inputs.push_back(vector.moves() ? vector.load(builder, place)
                                      : SmallVector<Value>(width, load(generic, *operand)));
    }
    VectorOperand out(generic, generic.getDpsInitsMutable()[0]);
    bool readsOut = !generic.getRegionOutputArgs()[0].use_empty();
    SmallVector<Value> held(width, start), lanes; // the start of a sum of one element each, if there is one
    if (!start && readsOut)
      held = out.load(builder, place);
    Value first = builder.create<arith::MulIOp>(loc, group.back(), index(width));
    for (int64_t lane = 0; lane < width; ++lane) {
      positions.back() = builder.create<arith::AddIOp>(loc, first, index(lane));
      lanes.push_back(computeBody(generic, held[lane], [&](unsigned number) { return inputs[number][lane]; }));
    }
    out.store(builder, lanes, place);
    goHome();
  }

  /// The operation that joins the accumulator with one more element: only one that can join two accumulators as well. Null for other bodies.
  static Operation *combinerOf(linalg::GenericOp generic) {
    Operation *op = generic.getBody()->getTerminator()->getOperand(0).getDefiningOp();
    Value accumulator = generic.getRegionOutputArgs()[0];
    bool joins = isa_and_nonnull<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::AddIOp, arith::MulIOp,
                                 arith::AndIOp, arith::OrIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(op);
    bool takesAccumulator = joins && accumulator.hasOneUse() && llvm::is_contained(op->getOperands(), accumulator);
    return takesAccumulator ? op : nullptr;
  }

  Value load(linalg::GenericOp generic, OpOperand &operand) {
    return builder.create<memref::LoadOp>(loc, mapping.lookup(operand.get()), indicesOf(generic, operand));
  }
  SmallVector<Value> indicesOf(linalg::GenericOp generic, OpOperand &operand) {
    SmallVector<Value> indices;
    for (AffineExpr expr : generic.getMatchingIndexingMap(&operand).getResults())
      indices.push_back(positions[cast<AffineDimExpr>(expr).getPosition()]);
    return indices;
  }

  /// What the body yields at `positions`, given the accumulator.
  Value computeBody(linalg::GenericOp generic, Value accumulator) {
    return computeBody(generic, accumulator,
                       [&](unsigned number) { return load(generic, *generic.getDpsInputOperand(number)); });
  }
  Value computeBody(linalg::GenericOp generic, Value accumulator, function_ref<Value(unsigned)> input) {
    IRMapping body(mapping);
    for (auto [number, argument] : llvm::enumerate(generic.getRegionInputArgs()))
      body.map(argument, input(number));
    if (accumulator)
      body.map(generic.getRegionOutputArgs()[0], accumulator);
    for (Operation &op : generic.getBody()->without_terminator())
      cloneScalar(op, body);
    return body.lookupOrDefault(generic.getBody()->getTerminator()->getOperand(0));
  }

  void cloneScalar(Operation &op, IRMapping &body) {
    if (auto position = dyn_cast<linalg::IndexOp>(op)) {
      body.map(position.getResult(), positions[position.getDim()]);
      return;
    }
    if (auto call = dyn_cast<func::CallOp>(op)) {
      body.map(call.getResult(0), callDevice(call, body.lookup(call.getOperand(0))));
      return;
    }
    builder.clone(op, body);
  }

  /// A function of the C library is libdevice's of the same name.
  Value callDevice(func::CallOp call, Value x) {
    std::string name = ("__nv_" + call.getCallee()).str();
    if (!module.lookupSymbol(name)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      builder.create<func::FuncOp>(loc, name, call.getCalleeType()).setPrivate();
    }
    return builder.create<func::CallOp>(loc, name, call.getResultTypes(), x).getResult(0);
  }

  /// Loops over the reduced dimensions from `depth` on, within which the accumulator goes from element to element.
  Value sumLoops(linalg::GenericOp generic, ArrayRef<unsigned> reduced, Value accumulator) {
    if (reduced.empty())
      return computeBody(generic, accumulator);
    auto loop = builder.create<scf::ForOp>(loc, index(0), index(generic.getStaticLoopRanges()[reduced.front()]), index(1), accumulator);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    positions[reduced.front()] = loop.getInductionVar();
    Value next = sumLoops(generic, reduced.drop_front(), loop.getRegionIterArg(0));
    builder.create<scf::YieldOp>(loc, next);
    return loop.getResult(0);
  }

  void sumByThread(linalg::GenericOp generic, ArrayRef<unsigned> reduced) {
    OpOperand &out = generic.getDpsInitsMutable()[0];
    bool readsOut = !generic.getRegionOutputArgs()[0].use_empty();
    Value accumulator = start ? start : readsOut ? load(generic, out) : Value();
    if (!accumulator) {
      auto type = cast<MemRefType>(out.get().getType()).getElementType();
      accumulator = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
    }
    Value result = sumLoops(generic, reduced, accumulator);
    builder.create<memref::StoreOp>(loc, result, mapping.lookup(out.get()), indicesOf(generic, out));
  }

  /// What partial sums begin with: the kernel's own start, or zero where the sum is added to what the memory holds. False if threads cannot share the sum.
  bool startSum(linalg::GenericOp generic, Operation *combiner) {
    if (!combiner)
      return false;
    addsToOut = !start && isa<arith::AddFOp, arith::AddIOp>(combiner);
    if (addsToOut)
      start = builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(combiner->getResult(0).getType()));
    return start != nullptr;
  }

  /// A block for `kColumns` neighbouring results, which a row of memory holds side by side: a warp reads a row, and the warps share the rows.
  Value beginColumns(int64_t results) {
    threads = kThreads;
    blocks = llvm::divideCeil(results, kColumns);
    Value column = builder.create<arith::RemUIOp>(loc, threadId(), index(kColumns));
    Value item = builder.create<arith::AddIOp>(loc, builder.create<arith::MulIOp>(loc, blockId(), index(kColumns)), column);
    columnInside = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, item, index(results));
    // Every thread comes to the barriers; those beyond the end read the last column.
    return builder.create<arith::MinUIOp>(loc, item, index(results - 1));
  }

  /// The threads of a block share one sum, or each `kColumns`th of them one of a column; their parts are joined in a tree, in the same order on every run.
  void sumTogether(linalg::GenericOp generic, ArrayRef<unsigned> reduced, ArrayRef<int64_t> sizes, int64_t columns, Operation *combiner) {
    if (!columns) {
      blocks = product(generic.getStaticLoopRanges()) / product(sizes);
      threads = kThreads;
    }
    int64_t width = columns ? kColumns : 1;
    Value thread = threadId();
    Value first = columns ? builder.create<arith::DivUIOp>(loc, thread, index(width)).getResult() : thread;
    auto loop = builder.create<scf::ForOp>(loc, first, index(product(sizes)), index(threads / width), start);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      for (auto [dim, position] : llvm::zip(reduced, delinearize(loop.getInductionVar(), sizes)))
        positions[dim] = position;
      builder.create<scf::YieldOp>(loc, computeBody(generic, loop.getRegionIterArg(0)));
    }
    Value sum = joinThreads(loop.getResult(0), thread, width, combiner);
    Value stores = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, thread, index(width));
    if (columns)
      stores = builder.create<arith::AndIOp>(loc, stores, columnInside);
    auto guard = builder.create<scf::IfOp>(loc, stores, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(guard.thenBlock());
    OpOperand &out = generic.getDpsInitsMutable()[0];
    if (addsToOut)
      sum = join(combiner, load(generic, out), sum);
    builder.create<memref::StoreOp>(loc, sum, mapping.lookup(out.get()), indicesOf(generic, out));
  }

  Value join(Operation *combiner, Value a, Value b) {
    Operation *joined = builder.clone(*combiner);
    joined->setOperands({a, b});
    return joined->getResult(0);
  }

  /// For the first `width` threads the sum of their own and every `width`th after them.
  Value joinThreads(Value mine, Value thread, int64_t width, Operation *combiner) {
    auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
    Value shared = kernel.addWorkgroupAttribution(MemRefType::get({threads}, mine.getType(), MemRefLayoutAttrInterface(), space), loc);
    builder.create<memref::StoreOp>(loc, mine, shared, thread);
    for (int64_t half = threads / 2; half >= width; half /= 2) {
      builder.create<gpu::BarrierOp>(loc);
      auto isLower = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, thread, index(half));
      auto guard = builder.create<scf::IfOp>(loc, isLower, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard insertion(builder);
      builder.setInsertionPointToStart(guard.thenBlock());
      Value partner = builder.create<arith::AddIOp>(loc, thread, index(half));
      Value a = builder.create<memref::LoadOp>(loc, shared, thread), b = builder.create<memref::LoadOp>(loc, shared, partner);
      builder.create<memref::StoreOp>(loc, join(combiner, a, b), shared, thread);
    }
    return builder.create<memref::LoadOp>(loc, shared, thread);
  }

  /// A thread for each iteration of the outer loops, which a running sum makes independent of each other.
  void mapLoops(scf::ForOp loop) {
    SmallVector<scf::ForOp> outer;
    SmallVector<int64_t> sizes;
    auto sizeOf = [](scf::ForOp op) { return getConstantIntValue(op.getUpperBound()).value_or(0); };
    Operation *rest = loop;
    for (auto next = loop; next && next.getInitArgs().empty(); next = dyn_cast<scf::ForOp>(rest)) {
      outer.push_back(next);
      sizes.push_back(sizeOf(next));
      rest = nullptr;
      for (Operation &op : next.getBody()->without_terminator())
        rest = &op;
    }
    Value item = beginItem(product(sizes));
    for (auto [op, position] : llvm::zip(outer, delinearize(item, sizes)))
      mapping.map(op.getInductionVar(), position);
    if (outer.empty())
      builder.clone(*loop, mapping);
    // What stands between the loops are constants.
    for (scf::ForOp op : outer)
      for (Operation &inside : op.getBody()->without_terminator())
        if (!llvm::is_contained(outer, dyn_cast<scf::ForOp>(inside)))
          builder.clone(inside, mapping);
    goHome();
  }

  func::FuncOp source;
  gpu::GPUModuleOp module;
  gpu::GPUFuncOp kernel;
  SmallVector<Work> works;
  Block *home = nullptr;  ///< where works stand
  int64_t firstBlock = 0; ///< of the work
  Location loc;
  OpBuilder builder;
  IRMapping mapping;
  SmallVector<Value> positions;
  /// What the sum begins with, if the kernel sets it.
  Value start;
  bool addsToOut = false;
  /// Whether this thread's column exists.
  Value columnInside;
  int64_t blocks = 1, threads = 1;
  /// Neighbouring results of a thread.
  int64_t width = 1;
};

struct MapKernels : lower::impl::MapKernelsBase<MapKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    auto kernels = builder.create<gpu::GPUModuleOp>(module.getLoc(), exec::kKernelModule);
    NamedAttrList launches;
    MemoryAlignment alignment(module);
    for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!kernel.isExternal()) {
        auto geometry = KernelMapper(kernel, kernels, alignment.parametersOf(kernel)).map();
        if (failed(geometry))
          return signalPassFailure();
        launches.set(kernel.getName(), builder.getDenseI64ArrayAttr({geometry->first, geometry->second}));
      }
      kernel.erase();
    }
    kernels->setAttr(kLaunchesAttr, launches.getDictionary(&getContext()));
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), builder.getUnitAttr());
  }
};
} // namespace
