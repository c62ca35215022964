// The exec dialect: registration, assembly of functions, verification.
#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace p3d::exec;

#include "dialects/Exec/ExecDialect.cpp.inc"
#include "dialects/Exec/ExecEnums.cpp.inc"
#include "dialects/Exec/ExecInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/ExecAttrs.cpp.inc"
      >();
}

Type p3d::exec::memoryElement(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return element;
  return IntegerType::get(element.getContext(), std::max(8u, integer.getWidth()));
}

MemRefType p3d::exec::memoryType(RankedTensorType tensor) {
  return MemRefType::get(tensor.getShape(), memoryElement(tensor.getElementType()));
}

MemRefType p3d::exec::flatType(MemRefType type) {
  return MemRefType::get({type.getNumElements()}, type.getElementType());
}

std::string p3d::exec::taskName(pipe::TaskKind kind, int64_t chunk) {
  std::string name = pipe::stringifyTaskKind(kind).str();
  return chunk ? name + "." + std::to_string(chunk) : name;
}

bool p3d::exec::isTurned(Operation *transfer) {
  auto task = transfer->getParentOfType<TaskOp>();
  int64_t here = transfer->getParentOfType<ProgramOp>().getIndex();
  auto send = dyn_cast<SendOp>(transfer);
  int64_t from = send ? here : int64_t(cast<RecvOp>(transfer).getStage()), to = send ? int64_t(send.getStage()) : here;
  return (task.getKind() == pipe::TaskKind::Forward) != (from < to);
}

int64_t p3d::exec::firstSlotOf(ProgramOp program, int64_t chunk) {
  ArrayRef<int64_t> before = program.getSlots().take_front(chunk);
  return std::accumulate(before.begin(), before.end(), int64_t(0));
}

static std::optional<p3d::pipe::TaskKind> kindOf(char letter) {
  switch (letter) {
  case 'P':
    return p3d::pipe::TaskKind::Prologue;
  case 'F':
    return p3d::pipe::TaskKind::Forward;
  case 'B':
    return p3d::pipe::TaskKind::Backward;
  case 'W':
    return p3d::pipe::TaskKind::WeightGradient;
  case 'S':
    return p3d::pipe::TaskKind::Synchronize;
  case 'U':
    return p3d::pipe::TaskKind::Update;
  }
  return std::nullopt;
}

std::optional<Action> p3d::exec::parseAction(ProgramOp program, StringRef text) {
  std::optional<p3d::pipe::TaskKind> kind = text.empty() ? std::nullopt : kindOf(text.front());
  auto [microbatch, chunk] = text.drop_front(text.empty() ? 0 : 1).split('.');
  if (!kind)
    return std::nullopt;
  Action action{*kind};
  if ((!microbatch.empty() && microbatch.getAsInteger(10, action.microbatch)) || (!chunk.empty() && chunk.getAsInteger(10, action.chunk)) ||
      action.chunk < 0 || action.chunk >= int64_t(program.getSlots().size()))
    return std::nullopt;
  return action;
}

SmallVector<Step> p3d::exec::stepsOf(ProgramOp program) {
  SmallVector<Step> steps;
  std::map<std::pair<pipe::TaskKind, int64_t>, TaskOp> tasks;
  for (auto task : program.getOps<TaskOp>()) {
    tasks[{task.getKind(), task.getChunk()}] = task;
    if (!program.getOrder())
      steps.push_back({task});
  }
  for (Attribute entry : program.getOrder() ? program.getOrder()->getValue() : ArrayRef<Attribute>()) {
    std::optional<Action> action = parseAction(program, cast<StringAttr>(entry).getValue());
    if (auto task = action ? tasks.find({action->kind, action->chunk}) : tasks.end(); task != tasks.end())
      steps.push_back({task->second, action->microbatch});
  }
  return steps;
}

int64_t p3d::exec::slotOf(ProgramOp program, Action action) {
  return firstSlotOf(program, action.chunk) + action.microbatch % program.getSlots()[action.chunk];
}

int64_t p3d::exec::bytesOf(MemRefType type) {
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

ParseResult FunctionOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FunctionOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult SlabOp::verify() {
  if (getPlaces().empty())
    return emitOpError() << "has no places, expected one for each microbatch or for the first of them";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  Operation *found = symbols.lookupNearestSymbolFrom(module, getKernelAttr());
  if (!found) // mapped to a GPU already
    found = symbols.lookupNearestSymbolFrom(module, SymbolRefAttr::get(getContext(), kKernelModule, getKernelAttr()));
  if (!found)
    return emitOpError() << "launches '" << getKernel() << "', which is no kernel of this module";
  auto kernel = dyn_cast<func::FuncOp>(found);
  if (!kernel) // lowered already: its parameters are addresses
    return success();
  SmallVector<Type> expected;
  for (Value in : getIns())
    expected.push_back(flatType(cast<MemRefType>(in.getType())));
  llvm::append_range(expected, getStarts().getTypes());
  for (Value out : getOuts())
    expected.push_back(flatType(cast<MemRefType>(out.getType())));
  if (kernel.getArgumentTypes() != ArrayRef<Type>(expected))
    return emitOpError() << "does not give the parameters of '" << getKernel() << "', which are "
                         << kernel.getFunctionType();
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<FunctionOp>((*this)->getParentOfType<ModuleOp>(), getCalleeAttr());
  if (!function)
    return emitOpError() << "calls '" << getCallee() << "', which is no exec.function of this module";
  SmallVector<Type> given(getIns().getTypes());
  llvm::append_range(given, getOuts().getTypes());
  if (function.getArgumentTypes() != ArrayRef<Type>(given) ||
      getOuts().size() != function.getOuts())
    return emitOpError() << "does not give the parameters of '" << getCallee() << "', which are "
                         << function.getFunctionType() << ", the last " << function.getOuts() << " of them outs";
  return success();
}

/// The memory that `epilogue` adds to the product's own: what it takes, what it makes, and what it may make besides.
static std::tuple<unsigned, unsigned, unsigned> memoriesOf(std::optional<Epilogue> epilogue) {
  if (!epilogue)
    return {0, 0, 0};
  switch (*epilogue) {
  case Epilogue::Bias:
    return {1, 0, 0};
  case Epilogue::BiasGelu:
  case Epilogue::GeluGrad:
    return {1, 0, 1};
  case Epilogue::SumLhs:
  case Epilogue::SumRhs:
    return {0, 1, 0};
  }
  llvm_unreachable("an epilogue without a row");
}

/// Whether `vector` has an element for each of some last dimensions of `whole`.
static bool liesAlong(MemRefType vector, MemRefType whole) {
  int64_t elements = 1;
  for (int64_t size : llvm::reverse(whole.getShape())) {
    if (elements == vector.getNumElements())
      break;
    elements *= size;
  }
  return elements == vector.getNumElements();
}

LogicalResult EinsumOp::verify() {
  auto [taken, made, optional] = memoriesOf(getEpilogue());
  size_t ins = 2 + taken, outs = 1 + made;
  if (getIns().size() != ins || getOuts().size() < outs || getOuts().size() > outs + optional)
    return emitOpError() << "has " << getIns().size() << " ins and " << getOuts().size() << " outs, expected " << ins
                         << " and " << outs;
  return getEpilogue() ? verifyEpilogue() : success();
}

LogicalResult EinsumOp::verifyEpilogue() {
  Epilogue epilogue = *getEpilogue();
  if (getAdds() && epilogue != Epilogue::SumLhs && epilogue != Epilogue::SumRhs)
    return emitOpError() << "adds to its out, but its epilogue " << stringifyEpilogue(epilogue)
                         << " is of the product alone";
  auto product = cast<MemRefType>(getOuts()[0].getType());
  auto check = [&](Value memory, bool isVector) -> LogicalResult {
    auto type = cast<MemRefType>(memory.getType());
    Value along = epilogue == Epilogue::SumLhs   ? getIns()[0]
                  : epilogue == Epilogue::SumRhs ? getIns()[1]
                                                 : getOuts()[0];
    bool fits = isVector ? liesAlong(type, cast<MemRefType>(along.getType())) : type == product;
    if (fits && type.getElementType() == product.getElementType())
      return success();
    return emitOpError() << "has " << type << " for its epilogue " << stringifyEpilogue(epilogue) << ", expected "
                         << (isVector ? "a vector along " : "memory like ")
                         << (isVector ? along.getType() : Type(product)) << " of " << product.getElementType();
  };
  for (Value in : getIns().drop_front(2))
    if (failed(check(in, epilogue != Epilogue::GeluGrad)))
      return failure();
  for (Value out : getOuts().drop_front(1))
    if (failed(check(out, epilogue != Epilogue::BiasGelu)))
      return failure();
  return success();
}

ValueRange AllReduceOp::getReads() { return getOuts(); }
ValueRange ReduceSharesOp::getReads() { return getOuts(); }
ValueRange GatherSharesOp::getReads() { return getOuts(); }
ValueRange SendOp::getWrites() { return {}; }
ValueRange RecvOp::getReads() { return {}; }
