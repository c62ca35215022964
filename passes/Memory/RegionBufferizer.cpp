// Places of values, and the operations that generated kernels compute.
#include "passes/Memory/RegionBufferizer.h"
#include "dialects/Pipe/PipeOps.h"
#include "passes/Memory/CumulativeKernel.h"
#include "passes/Memory/ShapeIndices.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

Value RegionBufferizer::memory(Value tensor) {
  Value found = memories.lookup(tensor);
  assert(found && "a value that has memory is made before it is used");
  return found;
}

Value RegionBufferizer::viewAs(Value source, Value tensor) {
  MemRefType type = exec::memoryType(graph::tensorType(tensor));
  if (source.getType() == type)
    return source;
  return builder.create<exec::ViewOp>(tensor.getLoc(), type, source, Value());
}

Value RegionBufferizer::allocate(Value tensor) {
  Value &place = memories[tensor];
  if (Value destination = destinations.lookup(tensor))
    place = viewAs(destination, tensor);
  else
    place = builder.create<exec::TemporaryOp>(tensor.getLoc(), exec::memoryType(graph::tensorType(tensor)),
                                              IntegerAttr());
  return place;
}

Value RegionBufferizer::start(Location loc, ArrayRef<dist::Axis> axes, int64_t chunk) {
  SmallVector<Attribute> names;
  for (dist::Axis axis : axes)
    names.push_back(dist::AxisAttr::get(builder.getContext(), axis));
  auto list = builder.getArrayAttr(names);
  for (exec::StartOp known : starts)
    if (known.getAxes() == list && static_cast<int64_t>(known.getChunk()) == chunk)
      return known;
  starts.push_back(builder.create<exec::StartOp>(loc, builder.getI64Type(), list, builder.getI64IntegerAttr(chunk)));
  return starts.back();
}

Value RegionBufferizer::startOf(Operation *op, int64_t dim) {
  auto shard = op->getAttrOfType<dist::ShardAttr>(dist::kShardAttr);
  if (!shard || shard.getDim() != dim)
    return {};
  return start(op->getLoc(), shard.getAxes(), shard.getChunk());
}

Value RegionBufferizer::startOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::IotaOp op) { return startOf(op, op.getDim()); })
      .Case([&](dist::MaskPaddingOp op) { return start(op.getLoc(), op.getShard().getAxes(), op.getShard().getChunk()); })
      .Case([&](dist::ShardSliceOp op) {
        return start(op.getLoc(), op.getAxis(), graph::tensorType(op.getResult()).getDimSize(op.getDim()));
      })
      .Default(Value());
}

bool RegionBufferizer::isView(dist::ShardSliceOp op) {
  auto outer = graph::tensorType(op.getOperand()).getShape().take_front(op.getDim());
  return isIndexChange(op) && isStored(op.getOperand()) && llvm::all_of(outer, [](int64_t size) { return size == 1; });
}

Value RegionBufferizer::aliasOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !fusion.hasMemory(value))
    return {};
  if (auto reshape = dyn_cast<graph::ReshapeOp>(op))
    if (isStored(reshape.getOperand()))
      return reshape.getOperand();
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
    if (isFresh(reduce.getOperand()) && reduce.getOperand().hasOneUse())
      return reduce.getOperand();
  if (auto call = dyn_cast<graph::CallOp>(op)) {
    BlockResult result = blockResults(symbols.lookup<graph::BlockOp>(call.getCallee()))[cast<OpResult>(value).getResultNumber()];
    if (result.kind == BlockResult::Argument)
      return call.getInputs()[result.index];
    if (result.kind == BlockResult::Result)
      return call.getOutputs()[result.index];
  }
  return {};
}

bool RegionBufferizer::isFresh(Value value) {
  while (Value source = aliasOf(value))
    value = source;
  Operation *op = value.getDefiningOp();
  if (!op || !fusion.hasMemory(value) || isa<pipe::ReadOp>(op))
    return false;
  if (auto slice = dyn_cast<dist::ShardSliceOp>(op))
    return !isView(slice);
  auto constant = dyn_cast<graph::ConstantOp>(op);
  return !constant || isFusable(op);
}

bool RegionBufferizer::place(Value tensor, Value out) {
  if (!isFresh(tensor))
    return false;
  while (Value source = aliasOf(tensor))
    tensor = source;
  return destinations.try_emplace(tensor, out).second;
}

bool RegionBufferizer::placeSum(Value tensor, Value out) {
  Operation *op = tensor.getDefiningOp();
  bool canAdd = isa_and_nonnull<graph::EinsumOp, graph::ScatterAddOp>(op);
  if (auto reduce = dyn_cast_or_null<graph::ReduceOp>(op))
    canAdd = reduce.getKind() == graph::ReduceKind::Sum && isa<FloatType>(reduce.getType().getElementType());
  if (auto call = dyn_cast_or_null<graph::CallOp>(op))
    canAdd = accumulation.elementOf(symbols.lookup(call.getCallee()), cast<OpResult>(tensor).getResultNumber()) != nullptr;
  return canAdd && tensor.hasOneUse() && sums.try_emplace(tensor, out).second;
}

LogicalResult RegionBufferizer::launch(Location loc, StringRef name, KernelSpec spec, Value tensor,
                                       ArrayRef<LinearIndex> indices) {
  bool reduces = spec.store == Store::Reduce || spec.store == Store::ReduceAdd;
  if (spec.store != Store::Reduce && llvm::is_contained(spec.loops, 0))
    return success();
  auto memoryOf = [&](Value value) { return memories.lookup(value); };
  auto startOf = [&](Operation *op) { return this->startOf(op); };
  KernelBody body(builder.getContext(), spec.loops.size(), memoryOf, startOf);
  Value scalar = body.scalar(tensor, indices);
  if (!scalar)
    return failure();
  if (reduces && body.reads.empty()) {
    body.body.clear();
    fusion.requireMemory(tensor);
    if (failed(makeElements(tensor)))
      return failure();
    return launch(loc, name, spec, tensor, indices);
  }
  BuiltKernel built = buildKernel(body, spec, scalar);
  func::FuncOp kernel = kernels.add(built.function, name);
  auto launch = builder.create<exec::LaunchOp>(loc, kernel.getSymName(), built.ins, body.starts, spec.out);
  launch.setAdds(spec.store == Store::Add || spec.store == Store::ReduceAdd);
  return success();
}

static KernelSpec wholeSpec(ArrayRef<int64_t> shape, Value out, Type outElement) {
  unsigned rank = shape.size();
  return {SmallVector<int64_t>(shape), Store::Set, 0, out, outElement, linearize(shape, identityIndices(rank), rank)};
}

LogicalResult RegionBufferizer::store(Location loc, Value tensor, Value out, Type outElement, Store how) {
  auto type = graph::tensorType(tensor);
  KernelSpec spec = wholeSpec(type.getShape(), out, outElement);
  spec.store = how;
  return launch(loc, how == Store::Add ? "accumulate" : "copy", spec, tensor, identityIndices(type.getRank()));
}

/// The kernel is named after the operation whose value it stores.
static StringRef kernelName(Value tensor) { return tensor.getDefiningOp()->getName().stripDialect(); }

LogicalResult RegionBufferizer::makeElements(Value tensor) {
  auto type = graph::tensorType(tensor);
  // The memory becomes the tensor's after the kernel is built: until then the tensor is what is to be computed.
  Value out = allocate(tensor);
  memories.erase(tensor);
  KernelSpec spec = wholeSpec(type.getShape(), out, type.getElementType());
  LogicalResult result = launch(tensor.getLoc(), kernelName(tensor), spec, tensor, identityIndices(type.getRank()));
  memories[tensor] = out;
  return result;
}

LogicalResult RegionBufferizer::makeReduction(graph::ReduceOp op) {
  auto from = op.getOperand().getType(), to = op.getType();
  unsigned rank = from.getRank();
  Indices indices = identityIndices(rank), kept;
  for (unsigned dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(indices[dim]);
  Value sum = sumOf(op.getResult());
  KernelSpec spec{SmallVector<int64_t>(from.getShape()),
                  sum ? Store::ReduceAdd : Store::Reduce,
                  static_cast<uint32_t>(op.getKind()),
                  sum ? sum : allocate(op.getResult()),
                  sum ? cast<MemRefType>(sum.getType()).getElementType() : to.getElementType(),
                  linearize(to.getShape(), kept, rank)};
  return launch(op.getLoc(), ("reduce_" + graph::stringifyReduceKind(op.getKind())).str(), spec, op.getOperand(), indices);
}

LogicalResult RegionBufferizer::makeConcat(graph::ConcatOp op) {
  auto to = op.getType();
  Value out = allocate(op.getResult());
  int64_t first = 0;
  for (Value operand : op.getOperands()) {
    auto from = graph::tensorType(operand);
    Indices indices = identityIndices(from.getRank()), place = indices;
    place[op.getDim()] = place[op.getDim()] + first;
    KernelSpec spec{SmallVector<int64_t>(from.getShape()), Store::Set, 0, out, to.getElementType(),
                    linearize(to.getShape(), place, from.getRank())};
    if (failed(launch(op.getLoc(), "concat", spec, operand, indices)))
      return failure();
    first += from.getDimSize(op.getDim());
  }
  return success();
}

LogicalResult RegionBufferizer::makePad(graph::PadOp op) {
  auto from = op.getOperand().getType(), to = op.getType();
  unsigned rank = to.getRank();
  Value out = allocate(op.getResult());
  KernelSpec fill = wholeSpec(to.getShape(), out, to.getElementType());
  if (failed(launch(op.getLoc(), "fill", fill, op.getValue(), {})))
    return failure();
  KernelSpec spec{{}, Store::Set, 0, out, to.getElementType(), LinearIndex(rank)};
  Indices indices, place;
  for (unsigned dim = 0; dim < rank; ++dim) {
    // Element j of the operand lands at low + j * step; the first and the last that land inside.
    int64_t step = op.getInterior()[dim] + 1, low = op.getLow()[dim];
    int64_t begin = low < 0 ? llvm::divideCeil(-low, step) : 0;
    int64_t room = to.getDimSize(dim) - 1 - low;
    int64_t end = room < 0 ? 0 : std::min(from.getDimSize(dim), room / step + 1);
    LinearIndex loop = LinearIndex::ofLoop(rank, dim);
    spec.loops.push_back(std::max<int64_t>(0, end - begin));
    indices.push_back(loop + begin);
    place.push_back((loop + begin) * step + low);
  }
  spec.outIndex = linearize(to.getShape(), place, rank);
  return launch(op.getLoc(), "pad", spec, op.getOperand(), indices);
}

void RegionBufferizer::makeSlice(dist::ShardSliceOp op) {
  auto strides = rowMajorStrides(graph::tensorType(op.getOperand()).getShape());
  auto type = exec::memoryType(graph::tensorType(op.getResult()));
  bind(op.getResult(), builder.create<exec::ViewOp>(op.getLoc(), type, memory(op.getOperand()), startOf(op.getOperation()),
                                                    builder.getI64IntegerAttr(strides[op.getDim()])));
}

LogicalResult RegionBufferizer::makeConstant(graph::ConstantOp op) {
  auto type = exec::memoryType(op.getResult().getType());
  bind(op.getResult(), builder.create<exec::ConstantOp>(op.getLoc(), type, op.getValue()));
  return success();
}

LogicalResult RegionBufferizer::makeCall(graph::CallOp op) {
  auto results = blockResults(symbols.lookup<graph::BlockOp>(op.getCallee()));
  SmallVector<Value> ins, outs;
  for (Value input : op.getInputs())
    ins.push_back(memory(input));
  for (auto [value, result] : llvm::zip(op.getOutputs(), results))
    if (result.kind == BlockResult::Out)
      outs.push_back(sumOf(value) ? sumOf(value) : allocate(value));
  builder.create<exec::CallOp>(op.getLoc(), op.getCallee(), ins, outs, op.getLayerAttr(), IntegerAttr());
  for (auto [value, result] : llvm::zip(op.getOutputs(), results))
    if (result.kind != BlockResult::Out)
      bind(value, viewAs(memory(aliasOf(value)), value));
  return success();
}

LogicalResult RegionBufferizer::makeCumulative(graph::CumulativeOp op) {
  func::FuncOp kernel = kernels.add(buildCumulativeKernel(op), "cumulative");
  Value in = memory(op.getOperand());
  builder.create<exec::LaunchOp>(op.getLoc(), kernel.getSymName(), in, ValueRange(), allocate(op.getResult()));
  return success();
}

LogicalResult RegionBufferizer::bufferizeGenerated(Operation *op) {
  for (Value result : op->getResults()) {
    if (!fusion.hasMemory(result))
      continue;
    Value alias = isa<graph::ReshapeOp>(op) ? aliasOf(result) : Value();
    auto slice = dyn_cast<dist::ShardSliceOp>(op);
    LogicalResult made = success();
    if (alias)
      bind(result, viewAs(memory(alias), result));
    else if (slice && isView(slice))
      makeSlice(slice);
    else
      made = TypeSwitch<Operation *, LogicalResult>(op)
                 .Case([&](graph::ReduceOp op) { return makeReduction(op); })
                 .Case([&](graph::ConcatOp op) { return makeConcat(op); })
                 .Case([&](graph::PadOp op) { return makePad(op); })
                 .Default([&](Operation *) { return makeElements(result); });
    if (failed(made))
      return failure();
  }
  return success();
}

Epilogues &RegionBufferizer::productEpilogues() {
  if (!epilogues)
    epilogues.emplace(region, fusion, [&](Value value) {
      Value sum = sumOf(value);
      return sum ? cast<MemRefType>(sum.getType()).getElementType()
                 : exec::memoryElement(graph::tensorType(value).getElementType());
    });
  return *epilogues;
}

LogicalResult RegionBufferizer::bufferize(Operation *op) {
  if (op->use_empty() && op->getNumResults() > 0)
    return success();
  if (hasEpilogues) {
    if (const ProductEpilogue *epilogue = productEpilogues().at(op))
      return bufferizeProduct(*this, *epilogue);
    if (productEpilogues().isDoneElsewhere(op))
      return success();
  }
  // A result that nobody reads still needs a place for its operation to write to.
  if (isGenerated(op) || isa<graph::ReshapeOp>(op))
    return bufferizeGenerated(op);
  for (Value result : op->getResults())
    fusion.requireMemory(result);
  if (auto call = dyn_cast<graph::CallOp>(op))
    return makeCall(call);
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return makeConstant(constant);
  if (auto cumulative = dyn_cast<graph::CumulativeOp>(op))
    return makeCumulative(cumulative);
  for (auto make : {bufferizeCollective, bufferizeLibraryCall}) {
    FailureOr<bool> made = make(*this, op);
    if (failed(made))
      return failure();
    if (*made)
      return success();
  }
  return op->emitOpError() << "has no form in memory";
}
