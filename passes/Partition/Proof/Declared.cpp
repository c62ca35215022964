// Declared types: what dist.sharding and dist.global_type say of a tensor.
#include "passes/Partition/Proof/OpTyping.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::partition;
using namespace p3d::partition::proof;

namespace {
/// Why `type` cannot be that of a tensor of shape `local` on each rank of `mesh`; empty if it can.
std::string contradiction(const ValueType &type, ArrayRef<int64_t> local, dist::MeshAttr mesh) {
  for (dist::Axis axis : kAxes) {
    unsigned uses = type.partialOver(axis).has_value();
    for (const DimType &dim : type.dims)
      uses += llvm::count(dim.axes, axis);
    if (uses > 1)
      return ("uses " + dist::stringifyAxis(axis) + " twice").str();
  }
  for (auto [d, dim] : llvm::enumerate(type.dims)) {
    std::string place = "dimension " + std::to_string(d) + " is " + describe(dim);
    if (dim.chunk != local[d])
      return place + ", but has " + std::to_string(local[d]) + " rows on each rank";
    if (dim.isCut() && dim.parts(mesh) * dim.chunk < dim.full)
      return place + ", which " + std::to_string(dim.parts(mesh)) + " shards do not cover";
  }
  return "";
}
} // namespace

FailureOr<ValueType> proof::readDeclared(Operation *op, StringRef what, Attribute sharding, Attribute global,
                                         RankedTensorType local, dist::MeshAttr mesh) {
  if (!sharding && !global) {
    ValueType type;
    for (int64_t size : local.getShape())
      type.dims.push_back(DimType::whole(size));
    return type;
  }
  auto found = dyn_cast_or_null<dist::ShardingAttr>(sharding);
  auto globalAttr = dyn_cast_or_null<TypeAttr>(global);
  auto whole = globalAttr ? dyn_cast<RankedTensorType>(globalAttr.getValue()) : RankedTensorType();
  if (!found || !whole || whole.getRank() != local.getRank() || int64_t(found.getDims().size()) != local.getRank() ||
      whole.getElementType() != local.getElementType())
    return op->emitOpError() << what << " has no dist.sharding and dist.global_type that fit " << local
                             << "; give it both, or neither where it is whole";
  ValueType type = declaredType(found, whole.getShape(), mesh);
  std::string why = contradiction(type, local.getShape(), mesh);
  if (!why.empty())
    return op->emitOpError() << what << " is declared " << describe(type) << " of type " << local << ": " << why
                             << "; mend its dist.sharding or its type";
  return type;
}

void proof::noteOperand(InFlightDiagnostic &error, Operation *op, unsigned number, const ValueType &type) {
  error.attachNote(op->getOperand(number).getLoc()) << "operand " << number << " is " << describe(type);
}
