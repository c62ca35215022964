// The named operations that kernels/Kernels.h computes, as calls with the parameters in the order of its declarations.
#include "passes/Memory/RegionBufferizer.h"
#include "dialects/Graph/TensorBytes.h"
#include "runtime/include/p3d/runtime.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// The number of an element type in the kernels' interface, or -1.
int dtypeOf(Type type) {
  if (type.isF32())
    return P3D_F32;
  if (type.isBF16())
    return P3D_BF16;
  if (type.isF16())
    return P3D_F16;
  if (type.isUnsignedInteger(32))
    return P3D_UI32;
  if (type.isInteger(32))
    return P3D_I32;
  return type.isInteger(64) ? P3D_I64 : -1;
}

class CallEmitter {
public:
  CallEmitter(RegionBufferizer &region, Operation *op) : region(region), builder(region.builder), op(op) {}

  void emit(graph::EinsumOp einsum) {
    bool adds = region.sumOf(einsum) != nullptr;
    builder.create<exec::EinsumOp>(op->getLoc(), einsum.getSpec(), ins(einsum->getOperands()), outs(), adds);
  }
  void emit(ProductEpilogue epilogue) {
    SmallVector<Value> from = ins(epilogue.product->getOperands()), to{out(epilogue.result)};
    if (epilogue.taken)
      from.push_back(region.memory(epilogue.taken));
    if (epilogue.kept)
      to.push_back(out(epilogue.kept));
    if (epilogue.sum)
      to.push_back(out(epilogue.sum));
    builder.create<exec::EinsumOp>(
        op->getLoc(), epilogue.product.getSpec(), from, to, region.sumOf(epilogue.result) != nullptr,
        exec::EpilogueAttr::get(builder.getContext(), epilogue.kind), epilogue.sum && region.sumOf(epilogue.sum));
  }
  void emit(graph::LayerNormOp norm) {
    call("p3d_layer_norm", {dtype(norm.getOperand()), dtype(norm.getScale())}, norm->getOperands(),
         {rows(norm.getOperand()), cols(norm.getOperand()), number(norm.getEpsilon())});
  }
  void emit(graph::LayerNormGradOp grad) {
    call("p3d_layer_norm_grad", {dtype(grad.getOperand()), dtype(grad.getScale())}, grad->getOperands(),
         {rows(grad.getOperand()), cols(grad.getOperand())});
  }
  void emit(graph::RmsNormOp norm) {
    call("p3d_rms_norm", {dtype(norm.getOperand()), dtype(norm.getScale())}, norm->getOperands(),
         {rows(norm.getOperand()), cols(norm.getOperand()), number(norm.getEpsilon())});
  }
  void emit(graph::RmsNormGradOp grad) {
    call("p3d_rms_norm_grad", {dtype(grad.getOperand()), dtype(grad.getScale())}, grad->getOperands(),
         {rows(grad.getOperand()), cols(grad.getOperand())});
  }
  void emit(graph::SoftmaxOp softmax) {
    Value x = softmax.getOperand();
    call("p3d_softmax", {dtype(x)}, x, {rows(x), cols(x)});
  }
  void emit(graph::SoftmaxGradOp grad) {
    Value y = grad.getLhs();
    call("p3d_softmax_grad", {dtype(y)}, grad->getOperands(), {rows(y), cols(y)});
  }
  void emit(graph::CrossEntropyMaxOp max) {
    Value x = max.getLogits();
    call("p3d_cross_entropy_max", {dtype(x)}, x, {rows(x), cols(x), shardStart(x), shardFull(x)});
  }
  void emit(graph::CrossEntropySumOp sum) {
    Value x = sum.getLogits();
    call("p3d_cross_entropy_sum", {dtype(x)}, sum->getOperands(), {rows(x), cols(x), shardStart(x), shardFull(x)});
  }
  void emit(graph::SoftmaxCrossEntropyGradOp grad) {
    Value x = grad.getLogits();
    call("p3d_cross_entropy_grad", {dtype(x)},
         {x, grad.getTargets(), grad.getMax(), grad.getSum(), grad.getDLoss()},
         {rows(x), cols(x), shardStart(x), shardFull(x)});
  }
  void emit(graph::TopKOp top) {
    Value x = top.getOperand();
    call("p3d_top_k", {dtype(x)}, x, {rows(x), cols(x), number(top.getK())});
  }
  void emit(graph::SortOp sort) {
    Value x = sort.getOperand();
    call("p3d_sort", {dtype(x)}, x, {rows(x), cols(x), builder.getI32IntegerAttr(sort.getDescending())});
  }
  void emit(graph::GatherOp gather) {
    auto x = gather.getOperand().getType();
    int64_t elementBytes = graph::elementBytes(x);
    call("p3d_gather", {builder.getI32IntegerAttr(elementBytes), dtype(gather.getIds())}, gather->getOperands(),
         rowTail(x, gather.getIds(), gather.getAxis(), gather.getBatchDims()));
  }
  void emit(graph::ScatterAddOp scatter) {
    auto tail = rowTail(scatter.getType(), scatter.getIds(), scatter.getAxis(), scatter.getBatchDims());
    Value sum = region.sumOf(scatter);
    tail.push_back(builder.getI32IntegerAttr(sum != nullptr));
    Attribute sumType = sum ? builder.getI32IntegerAttr(dtypeOf(cast<MemRefType>(sum.getType()).getElementType()))
                            : dtype(scatter.getResult());
    call("p3d_scatter_add", {dtype(scatter.getUpdates()), sumType, dtype(scatter.getIds())},
         scatter->getOperands(), tail);
  }
  void emit(graph::AttentionOp attention) {
    SmallVector<Value> operands{attention.getQuery(), attention.getKey(), attention.getValue()};
    auto head = attentionHead(attention.getQuery(), attention.getMask(), operands);
    call("p3d_attention", head, operands, attentionTail(attention), maskStrides(attention.getQuery(), attention.getKey(), attention.getMask()));
  }
  void emit(graph::AttentionGradOp grad) {
    SmallVector<Value> operands{grad.getDResult(), grad.getQuery(), grad.getKey(), grad.getValue()};
    auto head = attentionHead(grad.getQuery(), grad.getMask(), operands);
    operands.append({grad.getResult(), grad.getLse()});
    call("p3d_attention_grad", head, operands, attentionTail(grad), maskStrides(grad.getQuery(), grad.getKey(), grad.getMask()));
  }

  /// Emits an error if an operand or a result has an element type that no kernel takes.
  LogicalResult check() {
    auto isKnown = [&](Type type) {
      return dtypeOf(cast<RankedTensorType>(type).getElementType()) >= 0 || isa<graph::GatherOp>(op);
    };
    for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
      if (!isKnown(type))
        return op->emitOpError() << "has no kernel for " << type << "; convert it to f32 or bf16 (indices to i32) first";
    for (Value statistic : statistics())
      if (statistic && !graph::tensorType(statistic).getElementType().isF32())
        return op->emitOpError() << "has statistics of type " << statistic.getType() << ", expected f32";
    return success();
  }

private:
  /// Operands and results that the kernels keep in f32 whatever the tensors' type.
  SmallVector<Value> statistics() {
    return TypeSwitch<Operation *, SmallVector<Value>>(op)
        .Case<graph::LayerNormOp, graph::LayerNormGradOp>(
            [](auto op) { return SmallVector<Value>{op.getMean(), op.getRstd()}; })
        .Case<graph::RmsNormOp, graph::RmsNormGradOp>([](auto op) { return SmallVector<Value>{op.getRstd()}; })
        .Case<graph::AttentionOp, graph::AttentionGradOp>(
            [](auto op) { return SmallVector<Value>{op.getLse(), op.getMask()}; })
        .Case([](graph::CrossEntropyMaxOp op) { return SmallVector<Value>{op.getMax()}; })
        .Case([](graph::CrossEntropySumOp op) { return SmallVector<Value>{op.getMax(), op.getSum(), op.getTarget()}; })
        .Case([](graph::SoftmaxCrossEntropyGradOp op) {
          return SmallVector<Value>{op.getMax(), op.getSum(), op.getDLoss()};
        })
        .Default(SmallVector<Value>{});
  }

  Attribute dtype(Value tensor) {
    return builder.getI32IntegerAttr(dtypeOf(graph::tensorType(tensor).getElementType()));
  }
  Attribute number(int64_t value) { return builder.getI64IntegerAttr(value); }
  Attribute number(const APFloat &value) { return builder.getF32FloatAttr(value.convertToDouble()); }
  int64_t lastDim(Value tensor) {
    auto shape = graph::tensorType(tensor).getShape();
    return shape.empty() ? 1 : shape.back();
  }
  Attribute cols(Value tensor) { return number(lastDim(tensor)); }
  Attribute rows(Value tensor) {
    return number(graph::tensorType(tensor).getNumElements() / std::max<int64_t>(1, lastDim(tensor)));
  }

  /// The first column of this shard of the logits; the number of columns of all shards.
  Attribute shardStart(Value logits) { return startAttr(graph::tensorType(logits).getRank() - 1, 0); }
  Attribute shardFull(Value logits) {
    auto shard = op->getAttrOfType<dist::ShardAttr>(dist::kShardAttr);
    return shard && shard.getDim() == graph::tensorType(logits).getRank() - 1 ? number(shard.getFull()) : cols(logits);
  }
  /// A unit, with the number among `starts`, where `op` holds a shard of `dim`, else `whole`.
  Attribute startAttr(int64_t dim, int64_t whole) {
    Value start = region.startOf(op, dim);
    if (!start)
      return number(whole);
    starts.push_back(start);
    return builder.getUnitAttr();
  }

  /// b, o, n, i, inner, start of gather and scatter_add.
  SmallVector<Attribute> rowTail(RankedTensorType x, Value ids, int64_t axis, int64_t batchDims) {
    auto product = [](ArrayRef<int64_t> sizes) { return number64(sizes); };
    auto shape = x.getShape(), idShape = graph::tensorType(ids).getShape();
    return {number(product(shape.take_front(batchDims))), number(product(shape.slice(batchDims, axis - batchDims))),
            number(shape[axis]), number(product(idShape.drop_front(batchDims))),
            number(product(shape.drop_front(axis + 1))), startAttr(axis, -1)};
  }
  static int64_t number64(ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>());
  }

  /// The dtype and, after it, a unit at the place of the mask among the ins if there is none.
  SmallVector<Attribute> attentionHead(Value query, Value mask, SmallVectorImpl<Value> &operands) {
    SmallVector<Attribute> head{dtype(query)};
    if (mask)
      operands.push_back(mask);
    else
      head.push_back(builder.getUnitAttr());
    return head;
  }
  template <typename Op> SmallVector<Attribute> attentionTail(Op attention) {
    auto q = attention.getQuery().getType().getShape(), k = attention.getKey().getType().getShape();
    return {number(q[0]), number(q[1]), number(k[1]), number(q[2]), number(k[2]), number(q[3]),
            number(attention.getScale()), builder.getI32IntegerAttr(attention.getCausal()),
            number(attention.getMaskedValue())};
  }
  /// Steps of the mask over (b, h, s, t), 0 where it is broadcast.
  SmallVector<int64_t> maskStrides(Value query, Value key, Value mask) {
    if (!mask)
      return {0, 0, 0, 0};
    auto shape = graph::tensorType(mask).getShape();
    SmallVector<int64_t> strides = rowMajorStrides(shape);
    for (auto [size, stride] : llvm::zip(shape, strides))
      if (size == 1)
        stride = 0;
    return strides;
  }

  SmallVector<Value> ins(ValueRange operands) {
    SmallVector<Value> memories;
    for (Value operand : operands)
      memories.push_back(region.memory(operand));
    return memories;
  }
  SmallVector<Value> outs() {
    SmallVector<Value> memories;
    for (Value result : op->getResults())
      memories.push_back(out(result));
    return memories;
  }
  Value out(Value result) { return region.sumOf(result) ? region.sumOf(result) : region.allocate(result); }

  void call(StringRef callee, ArrayRef<Attribute> head, ValueRange operands, ArrayRef<Attribute> tail,
            std::optional<SmallVector<int64_t>> maskStrides = std::nullopt) {
    auto strides = maskStrides ? builder.getDenseI64ArrayAttr(*maskStrides) : DenseI64ArrayAttr();
    SmallVector<Value> memories = ins(operands);
    auto made = builder.create<exec::InvokeOp>(op->getLoc(), builder.getStringAttr(callee), builder.getArrayAttr(head),
                                               memories, starts, outs(), builder.getArrayAttr(tail), strides);
    if (op->getNumResults() == 1 && region.sumOf(op->getResult(0)))
      made->setAttr("adds", builder.getUnitAttr());
  }

  RegionBufferizer &region;
  OpBuilder &builder;
  Operation *op;
  SmallVector<Value> starts;
};
} // namespace

LogicalResult p3d::memory::bufferizeProduct(RegionBufferizer &region, const ProductEpilogue &epilogue) {
  CallEmitter emitter(region, epilogue.product);
  if (failed(emitter.check()))
    return failure();
  emitter.emit(epilogue);
  return success();
}

FailureOr<bool> p3d::memory::bufferizeLibraryCall(RegionBufferizer &region, Operation *op) {
  return TypeSwitch<Operation *, FailureOr<bool>>(op)
      .Case<graph::EinsumOp, graph::LayerNormOp, graph::LayerNormGradOp, graph::RmsNormOp, graph::RmsNormGradOp,
            graph::SoftmaxOp, graph::SoftmaxGradOp, graph::CrossEntropyMaxOp, graph::CrossEntropySumOp,
            graph::SoftmaxCrossEntropyGradOp, graph::TopKOp, graph::SortOp, graph::GatherOp, graph::ScatterAddOp,
            graph::AttentionOp, graph::AttentionGradOp>([&](auto named) -> FailureOr<bool> {
        CallEmitter emitter(region, op);
        if (failed(emitter.check()))
          return failure();
        emitter.emit(named);
        return true;
      })
      .Default([](Operation *) { return false; });
}
