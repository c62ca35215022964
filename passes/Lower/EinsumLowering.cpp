// Matrix products as calls of the kernel library: a plan, the operands, and what an epilogue takes and makes.
#include "passes/Lower/CommandLowering.h"
#include "passes/Lower/EinsumPlan.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::lower;

static MemRefType memoryOf(Value memory) { return cast<MemRefType>(memory.getType()); }

static StringRef bytesOfPlan(const p3d_einsum_plan &plan) {
  return StringRef(reinterpret_cast<const char *>(&plan), sizeof plan);
}

LogicalResult CommandLowering::lower(exec::EinsumOp op) {
  MemRefType lhs = memoryOf(op.getIns()[0]), rhs = memoryOf(op.getIns()[1]), out = memoryOf(op.getOuts()[0]);
  auto plan = planEinsum(op.getSpec(), lhs.getShape(), rhs.getShape(), out.getShape());
  if (!plan)
    return op.emitOpError() << "needs more than 8 loops around its matrix product; join dimensions of '" << op.getSpec()
                            << "'";
  SmallVector<Value> args{llvm.constantBytes(bytesOfPlan(*plan), 8),
                          dtype(lhs.getElementType()),
                          dtype(out.getElementType()),
                          at(op.getIns()[0]),
                          at(op.getIns()[1]),
                          at(op.getOuts()[0]),
                          llvm.i32(op.getAdds())};
  if (op.getEpilogue())
    addEpilogue(op, args);
  llvm.call(op.getEpilogue() ? "p3d_einsum_epilogue" : "p3d_einsum", args);
  return success();
}

void CommandLowering::addEpilogue(exec::EinsumOp op, SmallVectorImpl<Value> &args) {
  Value bias, aux, sums;
  Value in = op.getIns().size() > 2 ? op.getIns()[2] : Value(),
        out = op.getOuts().size() > 1 ? op.getOuts()[1] : Value();
  switch (*op.getEpilogue()) {
  case exec::Epilogue::Bias:
  case exec::Epilogue::BiasGelu:
    bias = in, aux = out;
    break;
  case exec::Epilogue::GeluGrad:
    aux = in, sums = out;
    break;
  case exec::Epilogue::SumLhs:
  case exec::Epilogue::SumRhs:
    sums = out;
    break;
  }
  // Without a vector any number of columns will do.
  Value vector = bias ? bias : sums;
  int64_t count = vector ? memoryOf(vector).getNumElements() : memoryOf(op.getOuts()[0]).getShape().back();
  auto orNull = [&](Value memory) { return memory ? at(memory) : llvm.null(); };
  args.append({llvm.i32(static_cast<int64_t>(*op.getEpilogue())), llvm.i64(count), orNull(bias), orNull(aux),
               orNull(sums), llvm.i32(op.getAddsSums())});
}
