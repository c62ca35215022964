// Loops of one iteration are dropped and neighbouring loops that every access walks as one are joined, so that kernels of different shapes coincide and the
// innermost loop is long.
#include "passes/Memory/KernelBuilder.h"
#include "dialects/Exec/ExecOps.h"
#include "passes/Memory/ScalarExpr.h"
#include "passes/Memory/ScalarMath.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
class LoopShape {
public:
  LoopShape(KernelBody &body, const KernelSpec &spec) {
    SmallVector<bool> isIndexed(spec.loops.size());
    for (auto op : body.body.getOps<linalg::IndexOp>())
      isIndexed[op.getDim()] = true;
    for (auto [loop, size] : llvm::enumerate(spec.loops)) {
      SmallVector<int64_t> steps;
      for (const KernelBody::Read &read : body.reads)
        steps.push_back(read.index.loops[loop]);
      steps.push_back(spec.outIndex.loops[loop]);
      add(loop, size, std::move(steps), isIndexed[loop], (spec.store == Store::Reduce || spec.store == Store::ReduceAdd) && !spec.outIndex.loops[loop]);
    }
    renumber(body, spec.loops.size());
  }

  struct Loop {
    int64_t size;
    SmallVector<int64_t> steps; // of each read, then of the out
    bool isIndexed, isReduced;
    unsigned original;
  };
  SmallVector<Loop> loops;

private:
  void add(unsigned original, int64_t size, SmallVector<int64_t> steps, bool isIndexed, bool isReduced) {
    if (size == 1)
      return;
    Loop *outer = loops.empty() ? nullptr : &loops.back();
    bool joins = outer && !isIndexed && !outer->isIndexed && isReduced == outer->isReduced &&
                 llvm::all_of(llvm::zip(outer->steps, steps), [&](auto pair) {
                   return std::get<0>(pair) == std::get<1>(pair) * size;
                 });
    if (joins) {
      outer->size *= size;
      outer->steps = std::move(steps);
      return;
    }
    loops.push_back({size, std::move(steps), isIndexed, isReduced, original});
  }

  /// linalg.index of the loops that are left; those of one iteration are 0.
  void renumber(KernelBody &body, unsigned count) {
    SmallVector<std::optional<unsigned>> numbers(count);
    for (auto [i, loop] : llvm::enumerate(loops))
      numbers[loop.original] = i;
    for (auto op : llvm::make_early_inc_range(body.body.getOps<linalg::IndexOp>())) {
      if (auto number = numbers[op.getDim()]) {
        op.setDim(*number);
        continue;
      }
      OpBuilder builder(op);
      op.replaceAllUsesWith(builder.create<arith::ConstantIndexOp>(op.getLoc(), 0).getResult());
      op.erase();
    }
  }
};

/// One operand of the linalg.generic: a strided view of flat memory over the loops that move it.
struct Operand {
  Value view;
  AffineMap map;
};

class GenericBuilder {
public:
  GenericBuilder(KernelBody &body, const KernelSpec &spec)
      : body(body), spec(spec), shape(body, spec), loc(UnknownLoc::get(spec.out.getContext())), builder(loc.getContext()) {}

  BuiltKernel build(Value scalar) {
    createFunction();
    SmallVector<Operand> operands;
    for (auto [i, read] : llvm::enumerate(body.reads))
      operands.push_back(makeOperand(memoryArgument(read.memory), read.index, i));
    operands.push_back(makeOperand(function.getArguments().back(), spec.outIndex, body.reads.size()));
    coverLoops(operands);
    if (spec.store == Store::Reduce)
      fill();
    createLoops(operands, scalar);
    builder.create<func::ReturnOp>(loc);
    return {function, ins};
  }

private:
  void createFunction() {
    for (const KernelBody::Read &read : body.reads)
      if (!llvm::is_contained(ins, read.memory))
        ins.push_back(read.memory);
    SmallVector<Type> types;
    for (Value in : ins)
      types.push_back(exec::flatType(cast<MemRefType>(in.getType())));
    types.append(body.starts.size(), builder.getI64Type());
    types.push_back(exec::flatType(cast<MemRefType>(spec.out.getType())));
    function = func::FuncOp::create(loc, "kernel", builder.getFunctionType(types, {}));
    function.setPrivate();
    for (auto [i, type] : llvm::enumerate(types))
      if (isa<MemRefType>(type))
        function.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
    builder.setInsertionPointToStart(function.addEntryBlock());
    for (unsigned i = 0, n = body.starts.size(); i < n; ++i)
      body.numbers.getArgument(i).replaceAllUsesWith(function.getArgument(ins.size() + i));
  }

  Value memoryArgument(Value memory) {
    return function.getArgument(llvm::find(ins, memory) - ins.begin());
  }

  OpFoldResult offset(const LinearIndex &index) {
    if (index.starts.empty())
      return builder.getIndexAttr(index.constant);
    Value sum = builder.create<arith::ConstantIndexOp>(loc, index.constant);
    for (auto [start, factor] : index.starts) {
      unsigned number = llvm::find(body.starts, start) - body.starts.begin();
      Value term = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(),
                                                      function.getArgument(ins.size() + number));
      Value scale = builder.create<arith::ConstantIndexOp>(loc, factor);
      sum = builder.create<arith::AddIOp>(loc, sum, builder.create<arith::MulIOp>(loc, term, scale));
    }
    return sum;
  }

  Operand makeOperand(Value flat, const LinearIndex &index, unsigned number, ArrayRef<unsigned> still = {}) {
    SmallVector<OpFoldResult> sizes, strides;
    SmallVector<AffineExpr> exprs;
    for (auto [i, loop] : llvm::enumerate(shape.loops)) {
      if (!loop.steps[number] && !llvm::is_contained(still, i))
        continue;
      sizes.push_back(builder.getIndexAttr(loop.size));
      strides.push_back(builder.getIndexAttr(loop.steps[number]));
      exprs.push_back(builder.getAffineDimExpr(i));
    }
    auto map = AffineMap::get(shape.loops.size(), 0, exprs, loc.getContext());
    auto type = cast<MemRefType>(flat.getType());
    OpFoldResult first = offset(index);
    bool isWhole = sizes.size() == 1 && getConstantIntValue(first) == 0 && getConstantIntValue(strides[0]) == 1 &&
                   getConstantIntValue(sizes[0]) == type.getDimSize(0);
    if (isWhole)
      return {flat, map};
    SmallVector<int64_t> staticSizes, staticStrides;
    for (auto [size, stride] : llvm::zip(sizes, strides)) {
      staticSizes.push_back(*getConstantIntValue(size));
      staticStrides.push_back(*getConstantIntValue(stride));
    }
    auto layout = StridedLayoutAttr::get(loc.getContext(), getConstantIntValue(first).value_or(ShapedType::kDynamic),
                                         staticStrides);
    auto viewType = MemRefType::get(staticSizes, type.getElementType(), layout);
    return {builder.create<memref::ReinterpretCastOp>(loc, viewType, flat, first, sizes, strides), map};
  }

  /// Every loop needs an operand that tells its size: the first read takes those that move nothing, with a step of 0.
  void coverLoops(SmallVectorImpl<Operand> &operands) {
    SmallVector<unsigned> still;
    for (auto [i, loop] : llvm::enumerate(shape.loops))
      if (llvm::all_of(loop.steps, [](int64_t step) { return step == 0; }))
        still.push_back(i);
    if (still.empty())
      return;
    operands[0] = makeOperand(memoryArgument(body.reads[0].memory), body.reads[0].index, 0, still);
  }

  void fill() {
    Value start = builder.create<arith::ConstantOp>(loc, neutral(spec.reduceKind, spec.outElement));
    Value stored = toMemory(builder, loc, start, spec.outElement);
    builder.create<linalg::FillOp>(loc, stored, function.getArguments().back());
  }

  void createLoops(ArrayRef<Operand> operands, Value scalar) {
    SmallVector<Value> views;
    SmallVector<AffineMap> maps;
    for (const Operand &operand : operands) {
      views.push_back(operand.view);
      maps.push_back(operand.map);
    }
    SmallVector<utils::IteratorType> iterators;
    for (const auto &loop : shape.loops)
      iterators.push_back(loop.isReduced ? utils::IteratorType::reduction : utils::IteratorType::parallel);
    finishBody(scalar);
    auto generic = builder.create<linalg::GenericOp>(loc, ArrayRef(views).drop_back(), ArrayRef(views).take_back(), maps,
                                                     iterators);
    Block *block = builder.createBlock(&generic.getRegion());
    for (BlockArgument arg : body.body.getArguments())
      arg.replaceAllUsesWith(block->addArgument(arg.getType(), loc));
    block->getOperations().splice(block->end(), body.body.getOperations());
    builder.setInsertionPointAfter(generic);
  }

  /// Adds the out's element to the body's arguments and the way from the scalar to what is stored.
  void finishBody(Value scalar) {
    OpBuilder &inner = body.builder;
    Value held = body.body.addArgument(exec::memoryElement(spec.outElement), loc);
    Value result = scalar;
    if (spec.store != Store::Set) {
      Value sum = fromMemory(inner, loc, held, spec.outElement);
      result = resize(inner, result, sum.getType());
      result = combine(inner, loc, spec.reduceKind, spec.outElement, sum, result);
    }
    inner.create<linalg::YieldOp>(loc, toMemory(inner, loc, result, spec.outElement));
  }

  Value resize(OpBuilder &inner, Value number, Type type) {
    unsigned from = number.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
    if (from == to)
      return number;
    return from < to ? Value(inner.create<arith::ExtFOp>(loc, type, number))
                     : Value(inner.create<arith::TruncFOp>(loc, type, number));
  }

  KernelBody &body;
  const KernelSpec &spec;
  LoopShape shape;
  Location loc;
  OpBuilder builder;
  func::FuncOp function;
  SmallVector<Value> ins;
};
} // namespace

BuiltKernel p3d::memory::buildKernel(KernelBody &body, const KernelSpec &spec, Value scalar) {
  return GenericBuilder(body, spec).build(scalar);
}
