// Custom calls and annotations: identities that carry a hint, and the few calls whose meaning is known by name.
#include "passes/Import/Annotations.h"
#include "passes/Import/Translation.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

bool isIdentityTarget(StringRef target) {
  return llvm::is_contained({"Sharding", "tt.mark_argument", "annotate_device_placement", "xla.sdy.FuncResultSharding"}, target);
}

LogicalResult convertTopK(stablehlo::CustomCallOp op, Translation &t) {
  auto attributes = op->getAttrOfType<DictionaryAttr>("mhlo.attributes");
  auto k = attributes ? attributes.getAs<IntegerAttr>("k") : IntegerAttr();
  if (!k || op->getNumResults() != 2 || op->getNumOperands() != 1)
    return op.emitOpError() << "lacks 'k' in its attribute mhlo.attributes, or has other than one operand and two results";
  if (auto largest = attributes.getAs<BoolAttr>("largest"); largest && !largest.getValue())
    return op.emitOpError() << "takes the smallest elements; expected the largest";
  auto topK = t.create<graph::TopKOp>(op.getLoc(), op.getResult(0).getType(), op.getResult(1).getType(), t.get(op.getOperand(0)),
                                      k.getInt());
  t.bind(op.getResult(0), topK.getValues());
  t.bind(op.getResult(1), topK.getIndices());
  return success();
}

LogicalResult convertCustomCall(stablehlo::CustomCallOp op, Translation &t) {
  StringRef target = op.getCallTargetName();
  if (target == "mhlo.topk")
    return convertTopK(op, t);
  if (!isKnownCustomCall(target))
    return op.emitOpError() << "calls '" << target << "', whose meaning is not known here; export it as plain operations";
  if (op->getNumOperands() != op->getNumResults())
    return op.emitOpError() << "calls '" << target << "', an identity, with " << op->getNumOperands() << " operands and "
                            << op->getNumResults() << " results; expected as many results as operands";
  for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults()))
    t.bind(result, t.get(operand));
  return success();
}

LogicalResult convertConstraint(Operation *op, Translation &t) {
  auto sharding = inlineMesh(op->getParentOfType<ModuleOp>(), op->getLoc(), cast<sdy::TensorShardingAttr>(op->getAttr("sharding")));
  if (failed(sharding))
    return failure();
  Value operand = t.get(op->getOperand(0));
  t.bind(op->getResult(0), t.create<graph::ConstrainOp>(op->getLoc(), operand.getType(), operand, *sharding));
  return success();
}

LogicalResult convertSdyConstant(Operation *op, Translation &t) {
  auto value = cast<ElementsAttr>(op->getAttr("value"));
  t.bind(op->getResult(0), t.create<graph::ConstantOp>(op->getLoc(), op->getResult(0).getType(), value));
  return success();
}

} // namespace

bool p3d::import::isKnownCustomCall(StringRef target) { return isIdentityTarget(target) || target == "mhlo.topk"; }

void p3d::import::addAnnotationConverters(ConverterTable &table) {
  table.add<stablehlo::CustomCallOp>(convertCustomCall);
  table.addNamed("sdy.sharding_constraint", convertConstraint);
  table.addNamed("sdy.reshard", convertConstraint);
  table.addNamed("sdy.constant", convertSdyConstant);
}
