#include "passes/Lower/CommandLowering.h"
#include "dialects/Graph/TensorBytes.h"
#include "passes/Lower/KernelMapping.h"
#include "runtime/include/p3d/runtime.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::lower;

int p3d::lower::dtypeNumber(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return P3D_I1;
    case 8:
      return isUnsigned ? P3D_UI8 : P3D_I8;
    case 16:
      return isUnsigned ? P3D_UI16 : P3D_I16;
    case 32:
      return isUnsigned ? P3D_UI32 : P3D_I32;
    case 64:
      return isUnsigned ? P3D_UI64 : P3D_I64;
    }
    return -1;
  }
  return element.isF32() ? P3D_F32 : element.isBF16() ? P3D_BF16 : element.isF16() ? P3D_F16 : element.isF64() ? P3D_F64 : -1;
}

std::string p3d::lower::functionSymbol(StringRef name) { return ("p3d_block." + name).str(); }

namespace {
MemRefType memoryOf(Value memory) { return cast<MemRefType>(memory.getType()); }

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

/// "all_reduce over tp"
std::string over(StringRef what, exec::Group group) { return (what + " over " + exec::stringifyGroup(group)).str(); }

/// The bytes of a constant as memory holds them.
std::string bytesOf(ElementsAttr value) {
  auto dense = cast<DenseElementsAttr>(value);
  std::string bytes;
  auto append = [&](const APInt &bits) {
    uint64_t word = bits.getZExtValue();
    bytes.append(reinterpret_cast<const char *>(&word), std::max(1u, bits.getBitWidth() / 8));
  };
  if (isa<FloatType>(dense.getElementType())) {
    for (const APFloat &number : dense.getValues<APFloat>())
      append(number.bitcastToAPInt());
  } else {
    for (const APInt &number : dense.getValues<APInt>())
      append(number);
  }
  return bytes;
}

} // namespace

SmallVector<Value> CommandLowering::at(ValueRange memories) {
  SmallVector<Value> addresses;
  for (Value memory : memories)
    addresses.push_back(at(memory));
  return addresses;
}

Value CommandLowering::operation(StringRef what, StringRef reason) {
  return llvm.i32(names.number((reason + ": " + what).str()));
}

LogicalResult CommandLowering::lower(Block &commands) {
  for (Operation &op : commands) {
    llvm.loc = op.getLoc();
    LogicalResult lowered =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<exec::AddressOp, exec::ConstantOp, exec::TemporaryOp, exec::StartOp, exec::ViewOp, exec::LaunchOp,
                  exec::InvokeOp, exec::EinsumOp, exec::CallOp, exec::AllReduceOp, exec::ReduceSharesOp, exec::GatherSharesOp, exec::AllGatherOp,
                  exec::ReduceScatterOp, exec::AllToAllOp, exec::SendOp, exec::RecvOp, exec::RecordOp, exec::WaitOp, exec::UpdateOp>(
                [&](auto op) { return lower(op); })
            .Default([](Operation *op) { return op->emitOpError() << "is no command"; });
    if (failed(lowered))
      return failure();
    showResults(&op);
  }
  return success();
}

/// "reduce_sum at model.mlir:12"; empty for a command that makes no numbers, or only moves them.
static std::string nameOf(Operation *command) {
  std::string name = TypeSwitch<Operation *, std::string>(command)
                         .Case([](exec::LaunchOp op) {
                           StringRef kernel = op.getKernel();
                           kernel.consume_front("kernel.");
                           return kernel.split('.').first.str();
                         })
                         .Case([](exec::InvokeOp op) {
                           StringRef callee = op.getCallee();
                           callee.consume_front("p3d_");
                           return callee.str();
                         })
                         .Case([](exec::EinsumOp op) { return ("einsum " + op.getSpec()).str(); })
                         .Case([](exec::AllReduceOp op) { return over("all_reduce", op.getGroup()); })
                         .Case<exec::ReduceScatterOp, exec::ReduceSharesOp>([](auto op) { return over("reduce_scatter", op.getGroup()); })
                         .Default([](Operation *) { return std::string(); });
  auto place = command->getLoc()->findInstanceOf<FileLineColLoc>();
  if (name.empty() || !place)
    return name;
  return (name + " at " + llvm::sys::path::filename(place.getFilename().getValue()) + ":" + Twine(place.getLine())).str();
}

void CommandLowering::showResults(Operation *command) {
  std::string name = nameOf(command);
  // On a device what is reduced has a stream of its own; its readers show it.
  bool isDone = !environment.launches || isa<exec::LaunchOp, exec::InvokeOp, exec::EinsumOp>(command);
  if (name.empty() || !isDone)
    return;
  for (Value memory : cast<exec::Command>(command).getWrites())
    if (MemRefType type = memoryOf(memory); isa<FloatType>(type.getElementType()))
      llvm.call("p3d_made", {environment.context, llvm.i32(names.number(name)), dtype(type.getElementType()), at(memory), llvm.i64(type.getNumElements())});
}

/// Where a slab lies for the task's microbatch.
Value CommandLowering::addressOf(exec::SlabOp slab) {
  Value &known = slabs[slab];
  if (known)
    return known;
  ArrayRef<int64_t> places = slab.getPlaces();
  if (places.size() == 1)
    return known = llvm.offset(environment.arena, places.front());
  StringRef bytes(reinterpret_cast<const char *>(places.data()), places.size() * sizeof(int64_t));
  Value entry = llvm.mul(llvm.remainder(environment.microbatch, places.size()), sizeof(int64_t));
  return known = llvm.offset(environment.arena, llvm.loadI64(llvm.offset(llvm.constantBytes(bytes, sizeof(int64_t)), entry)));
}

LogicalResult CommandLowering::lower(exec::AddressOp op) {
  auto buffer = environment.buffers->lookup<exec::BufferOp>(op.getBuffer());
  Value base = buffer.getSlab() ? addressOf(environment.buffers->lookup<exec::SlabOp>(*buffer.getSlab())) : environment.arena;
  bind(op, llvm.offset(base, *buffer.getOffset()));
  return success();
}

LogicalResult CommandLowering::lower(exec::ConstantOp op) {
  if (!isa<DenseElementsAttr>(op.getValue()))
    return op.emitOpError() << "is a constant whose elements are not at hand; print the module with all elements";
  std::string bytes = bytesOf(op.getValue());
  Value address = llvm.constantBytes(bytes, exec::kAlignment);
  if (environment.launches)
    address = llvm.call("p3d_device_constants", {environment.context, address, llvm.i64(bytes.size())}, llvm.pointer);
  bind(op, address);
  return success();
}

LogicalResult CommandLowering::lower(exec::TemporaryOp op) {
  if (!op.getOffset())
    return op.emitOpError() << "has no place; run p3d-plan-memory first";
  bind(op, llvm.offset(environment.scratch, *op.getOffset()));
  return success();
}

LogicalResult CommandLowering::lower(exec::StartOp op) {
  auto mesh = op->getParentOfType<ModuleOp>()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  Value index;
  for (Attribute attr : op.getAxes()) {
    auto axis = cast<dist::AxisAttr>(attr).getValue();
    Value coordinate = axis == dist::Axis::MB
                           ? environment.microbatch
                           : llvm.call("p3d_axis_index", {environment.context, llvm.i32(static_cast<int64_t>(axis))},
                                       llvm.builder.getI64Type());
    if (!mesh && index)
      return op.emitOpError() << "is over two axes, but the module has no dist.mesh with their sizes";
    index = index ? llvm.add(llvm.mul(index, mesh.getSize(axis)), coordinate) : coordinate;
  }
  bind(op, index ? llvm.mul(index, op.getChunk()) : llvm.i64(0));
  return success();
}

LogicalResult CommandLowering::lower(exec::ViewOp op) {
  Value address = at(op.getSource());
  int64_t elementBytes = graph::elementBytes(memoryOf(op.getSource()));
  if (op.getStart())
    address = llvm.offset(address, llvm.mul(at(op.getStart()), op.getScale() * elementBytes));
  bind(op, address);
  return success();
}

LogicalResult CommandLowering::lower(exec::LaunchOp op) {
  SmallVector<Value> args = at(op.getIns());
  llvm::append_range(args, at(op.getStarts()));
  llvm::append_range(args, at(op.getOuts()));
  const SplitKernel *split = nullptr;
  if (environment.splits)
    if (auto found = environment.splits->find(op.getKernel()); found != environment.splits->end())
      split = &found->second;
  if (environment.launches)
    enqueue(op, args);
  else if (split)
    llvm.call("p3d_parallel", {llvm.addressOf(split->part, {llvm.pointer, llvm.builder.getI64Type(), llvm.builder.getI64Type()}), llvm.array(args), llvm.i64(split->extent),
                               llvm.i64(split->grain)});
  else
    llvm.call(op.getKernel(), args);
  return success();
}

void CommandLowering::enqueue(exec::LaunchOp op, ArrayRef<Value> arguments) {
  auto geometry = environment.launches.getAs<DenseI64ArrayAttr>(op.getKernel()).asArrayRef();
  SmallVector<Value> places;
  Value values = llvm.array(arguments);
  for (size_t i = 0; i < arguments.size(); ++i)
    places.push_back(llvm.offset(values, int64_t(i) * 8));
  llvm.call("p3d_launch", {environment.context, llvm.constantBytes(deviceName(op.getKernel()) + '\0', 1), llvm.i64(geometry[0]), llvm.i32(geometry[1]), llvm.array(places),
                           llvm.i32(arguments.size())});
}

LogicalResult CommandLowering::lower(exec::RecordOp op) {
  llvm.call("p3d_record", {environment.context, llvm.i32(op.getEvent()), llvm.i32(int64_t(op.getStream()))});
  return success();
}

LogicalResult CommandLowering::lower(exec::WaitOp op) {
  llvm.call("p3d_wait", {environment.context, llvm.i32(op.getEvent()), llvm.i32(int64_t(op.getStream()))});
  return success();
}

Value CommandLowering::constant(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return llvm.f32(number.getValueAsDouble());
  auto number = cast<IntegerAttr>(attribute);
  return number.getType().isInteger(32) ? llvm.i32(number.getInt()) : llvm.i64(number.getInt());
}

LogicalResult CommandLowering::lower(exec::InvokeOp op) {
  SmallVector<Value> args, ins = at(op.getIns()), starts = at(op.getStarts());
  bool hasMask = true;
  for (Attribute attribute : op.getHead())
    if (isa<UnitAttr>(attribute))
      hasMask = false;
    else
      args.push_back(constant(attribute));
  if (auto strides = op.getMaskStrides()) {
    // The mask, or null, and its steps stand between the three (with a gradient four) tensors of the scores and the rest.
    unsigned place = op.getCallee() == "p3d_attention" ? 3 : 4;
    if (!hasMask)
      ins.insert(ins.begin() + place, llvm.null());
    auto *bytes = reinterpret_cast<const char *>(strides->data());
    ins.insert(ins.begin() + place + 1, llvm.constantBytes(StringRef(bytes, strides->size() * sizeof(int64_t)), 8));
  }
  llvm::append_range(args, ins);
  llvm::append_range(args, at(op.getOuts()));
  unsigned nextStart = 0;
  for (Attribute attribute : op.getTail())
    args.push_back(isa<UnitAttr>(attribute) ? starts[nextStart++] : constant(attribute));
  SmallVector<Value> all(args);
  llvm.call(op.getCallee(), all);
  return success();
}

LogicalResult CommandLowering::lower(exec::CallOp op) {
  std::string name = op.getLayer() ? ("layer " + Twine(*op.getLayer())).str() : op.getCallee().str();
  llvm.call("p3d_enter_call", {environment.context, llvm.i32(names.number(name))});
  SmallVector<Value> args{environment.context};
  llvm::append_range(args, at(op.getIns()));
  llvm::append_range(args, at(op.getOuts()));
  args.push_back(llvm.offset(environment.scratch, op.getScratch().value_or(0)));
  args.push_back(environment.microbatch);
  llvm.call(functionSymbol(op.getCallee()), args);
  return success();
}

LogicalResult CommandLowering::lower(exec::AllReduceOp op) {
  std::string what = over("all_reduce", op.getGroup());
  // Buffers that are neighbours in the arena go in one message; the zeros that align them are reduced with them.
  struct Run {
    Value address;
    int64_t begin, end;
  };
  SmallVector<Run> runs;
  auto placeOf = [&](Value memory) -> int64_t {
    auto address = memory.getDefiningOp<exec::AddressOp>();
    auto buffer = address ? environment.buffers->lookup<exec::BufferOp>(address.getBuffer()) : exec::BufferOp();
    return buffer && !buffer.getSlab() ? *buffer.getOffset() : -1;
  };
  SmallVector<Value> memories(op.getOuts());
  llvm::stable_sort(memories, [&](Value a, Value b) { return placeOf(a) < placeOf(b); });
  for (Value memory : memories) {
    int64_t bytes = exec::bytesOf(memoryOf(memory)), begin = placeOf(memory);
    if (!runs.empty() && begin >= 0 && begin == static_cast<int64_t>(llvm::alignTo(runs.back().end, exec::kAlignment)))
      runs.back().end = begin + bytes;
    else
      runs.push_back({at(memory), begin, begin + bytes});
  }
  int64_t elementBytes = graph::elementBytes(memoryOf(op.getOuts()[0]));
  for (const Run &run : runs)
    llvm.call("p3d_all_reduce", {environment.context, group(op.getGroup()), llvm.i32(op.getNumber()),
                                 llvm.i32(static_cast<int64_t>(op.getKind())), dtype(op.getDtype()), run.address,
                                 llvm.i64((run.end - run.begin) / elementBytes), operation(what, op.getReason())});
  return success();
}

template <typename Op> SmallVector<Value> CommandLowering::rowArguments(Op op, StringRef what, bool fromShare) {
  auto mesh = op->template getParentOfType<ModuleOp>()->template getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  int64_t chunk = op.getChunk(), bytes = graph::elementBytes(memoryOf(op.getOuts()[0]));
  Value row = at(op.getOuts()[0]);
  Value index = llvm.call("p3d_axis_index", {environment.context, group(op.getGroup())}, llvm.builder.getI64Type());
  Value share = llvm.offset(row, llvm.mul(index, chunk * bytes));
  return {fromShare ? share : row, fromShare ? row : share, llvm.i64(1), llvm.i64(chunk), llvm.i64(chunk * mesh.getDp()), llvm.i64(1),
          operation(over(what, op.getGroup()), op.getReason())};
}

LogicalResult CommandLowering::lower(exec::ReduceSharesOp op) {
  SmallVector<Value> arguments{environment.context, group(op.getGroup()), llvm.i32(P3D_SUM), dtype(op.getDtype())};
  llvm::append_range(arguments, rowArguments(op, "reduce_scatter", /*fromShare=*/false));
  llvm.call("p3d_reduce_scatter", arguments);
  return success();
}

LogicalResult CommandLowering::lower(exec::GatherSharesOp op) {
  SmallVector<Value> arguments{environment.context, group(op.getGroup()), dtype(op.getDtype())};
  llvm::append_range(arguments, rowArguments(op, "all_gather", /*fromShare=*/true));
  llvm.call("p3d_all_gather", arguments);
  return success();
}

LogicalResult CommandLowering::lower(exec::AllGatherOp op) {
  auto in = memoryOf(op.getIns()[0]).getShape(), out = memoryOf(op.getOuts()[0]).getShape();
  int64_t dim = op.getDim();
  llvm.call("p3d_all_gather",
            {environment.context, group(op.getGroup()), dtype(op.getDtype()), at(op.getIns()[0]), at(op.getOuts()[0]),
             llvm.i64(product(in.take_front(dim))), llvm.i64(in[dim]), llvm.i64(out[dim]),
             llvm.i64(product(in.drop_front(dim + 1))),
             operation(over("all_gather", op.getGroup()), op.getReason())});
  return success();
}

LogicalResult CommandLowering::lower(exec::ReduceScatterOp op) {
  auto in = memoryOf(op.getIns()[0]).getShape(), out = memoryOf(op.getOuts()[0]).getShape();
  int64_t dim = op.getDim();
  llvm.call("p3d_reduce_scatter",
            {environment.context, group(op.getGroup()), llvm.i32(static_cast<int64_t>(op.getKind())), dtype(op.getDtype()),
             at(op.getIns()[0]), at(op.getOuts()[0]), llvm.i64(product(in.take_front(dim))), llvm.i64(out[dim]),
             llvm.i64(in[dim]), llvm.i64(product(in.drop_front(dim + 1))),
             operation(over("reduce_scatter", op.getGroup()), op.getReason())});
  return success();
}

LogicalResult CommandLowering::lower(exec::AllToAllOp op) {
  auto in = memoryOf(op.getIns()[0]).getShape(), out = memoryOf(op.getOuts()[0]).getShape();
  ArrayRef<int64_t> shape = op.getShape();
  StringRef bytes(reinterpret_cast<const char *>(shape.data()), shape.size() * sizeof(int64_t));
  llvm.call("p3d_all_to_all",
            {environment.context, group(op.getGroup()), dtype(op.getDtype()), at(op.getIns()[0]), at(op.getOuts()[0]),
             llvm.i32(shape.size()), llvm.constantBytes(bytes, 8), llvm.i32(op.getGatherDim()),
             llvm.i64(in[op.getGatherDim()]), llvm.i32(op.getSplitDim()), llvm.i64(out[op.getSplitDim()]),
             operation(over("all_to_all", op.getGroup()), op.getReason())});
  return success();
}

LogicalResult CommandLowering::lower(exec::SendOp op) {
  llvm.call("p3d_send", {environment.context, llvm.i32(op.getStage()), llvm.i32(op.getChannel()), environment.microbatch,
                         environment.slot, at(op.getIns()[0]), llvm.i64(exec::bytesOf(memoryOf(op.getIns()[0]))),
                         operation("send", op.getReason())});
  return success();
}

LogicalResult CommandLowering::lower(exec::RecvOp op) {
  llvm.call("p3d_recv", {environment.context, llvm.i32(op.getStage()), llvm.i32(op.getChannel()), environment.microbatch,
                         at(op.getOuts()[0]), llvm.i64(exec::bytesOf(memoryOf(op.getOuts()[0]))),
                         operation("recv", op.getReason())});
  return success();
}
