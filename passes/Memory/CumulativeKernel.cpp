#include "passes/Memory/CumulativeKernel.h"
#include "dialects/Exec/ExecOps.h"
#include "passes/Memory/ScalarMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
struct Loops {
  OpBuilder &builder;
  Location loc;

  Value index(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }
  Value mulAdd(Value a, int64_t factor, Value b) {
    return builder.create<arith::AddIOp>(loc, builder.create<arith::MulIOp>(loc, a, index(factor)), b);
  }
  scf::ForOp loop(int64_t count, ValueRange carried = {}) {
    auto made = builder.create<scf::ForOp>(loc, index(0), index(count), index(1), carried);
    builder.setInsertionPointToStart(made.getBody());
    return made;
  }
};
} // namespace

func::FuncOp p3d::memory::buildCumulativeKernel(graph::CumulativeOp op) {
  auto type = graph::tensorType(op.getOperand());
  Type element = type.getElementType(), flat = exec::flatType(exec::memoryType(type));
  int64_t dim = op.getDim(), count = type.getDimSize(dim), outer = 1, inner = 1;
  for (int64_t i = 0; i < type.getRank(); ++i)
    (i < dim ? outer : inner) *= i == dim ? 1 : type.getDimSize(i);
  OpBuilder builder(op.getContext());
  Location loc = UnknownLoc::get(op.getContext());
  auto kernel = func::FuncOp::create(loc, "kernel", builder.getFunctionType({flat, flat}, {}));
  kernel.setPrivate();
  for (unsigned i : {0u, 1u})
    kernel.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
  builder.setInsertionPointToStart(kernel.addEntryBlock());
  Loops loops{builder, loc};
  auto kind = static_cast<uint32_t>(op.getKind());
  Value start = builder.create<arith::ConstantOp>(loc, neutral(kind, element));
  auto outerLoop = loops.loop(outer);
  auto innerLoop = loops.loop(inner);
  auto along = loops.loop(count, start);
  Value position = along.getInductionVar();
  if (op.getReverse())
    position = builder.create<arith::SubIOp>(loc, loops.index(count - 1), position);
  Value row = loops.mulAdd(outerLoop.getInductionVar(), count, position);
  Value place = loops.mulAdd(row, inner, innerLoop.getInductionVar());
  Value next = fromMemory(builder, loc, builder.create<memref::LoadOp>(loc, kernel.getArgument(0), place), element);
  Value sum = combine(builder, loc, kind, element, along.getRegionIterArgs()[0], next);
  builder.create<memref::StoreOp>(loc, toMemory(builder, loc, sum, element), kernel.getArgument(1), place);
  builder.create<scf::YieldOp>(loc, sum);
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  builder.create<func::ReturnOp>(loc);
  return kernel;
}
