#include "passes/Partition/Proof/ValueType.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::partition;
using namespace p3d::partition::proof;

int64_t DimType::parts(dist::MeshAttr mesh) const {
  int64_t count = 1;
  for (dist::Axis axis : axes)
    count *= mesh.getSize(axis);
  return count;
}

int ValueType::dimOf(dist::Axis axis) const {
  for (auto [d, dim] : llvm::enumerate(dims))
    if (dim.isCutBy(axis))
      return d;
  return -1;
}

bool ValueType::isWhole() const {
  return llvm::none_of(kAxes, [&](dist::Axis axis) { return variesOver(axis); });
}

bool ValueType::liesAs(const ValueType &other) const {
  return partial == other.partial && dims.size() == other.dims.size() &&
         llvm::all_of(llvm::zip(dims, other.dims),
                      [](auto pair) { return std::get<0>(pair).liesAs(std::get<1>(pair)); });
}

SmallVector<dist::Axis, 2> proof::axesInTypes(ArrayRef<dist::Axis> axes, dist::MeshAttr mesh) {
  SmallVector<dist::Axis, 2> found;
  for (dist::Axis axis : axes) {
    if (axis == dist::Axis::TP && mesh.getTpMinor() > 1)
      found.append({dist::Axis::TPMajor, dist::Axis::TPMinor});
    else if (axis == dist::Axis::TPMajor && mesh.getTpMinor() == 1)
      found.push_back(dist::Axis::TP);
    else if (axis != dist::Axis::TPMinor || mesh.getTpMinor() > 1)
      found.push_back(axis);
  }
  return found;
}

SmallVector<dist::Axis, 2> proof::axesInAttributes(ArrayRef<dist::Axis> axes) {
  SmallVector<dist::Axis, 2> found;
  for (dist::Axis axis : axes)
    if (axis == dist::Axis::TPMinor && !found.empty() && found.back() == dist::Axis::TPMajor)
      found.back() = dist::Axis::TP;
    else
      found.push_back(axis);
  return found;
}

ValueType proof::declaredType(dist::ShardingAttr sharding, ArrayRef<int64_t> global, dist::MeshAttr mesh) {
  ValueType type;
  for (auto [dim, size] : llvm::zip(sharding.getDims(), global))
    type.dims.push_back({axesInTypes(dim.axes, mesh), dim.axes.empty() ? size : dim.chunk, size, {}});
  for (dist::Axis axis : axesInTypes(sharding.getUnreduced(), mesh))
    type.partialOver(axis) = sharding.getReduce();
  return type;
}

DimType proof::declaredDim(dist::ShardAttr shard, dist::MeshAttr mesh) {
  return {axesInTypes(shard.getAxes(), mesh), shard.getChunk(), shard.getFull(), {}};
}

static std::string spell(ArrayRef<dist::Axis> axes) {
  std::string text = "{";
  for (dist::Axis axis : axesInAttributes(axes))
    text += (text.size() > 1 ? "," : "") + dist::stringifyAxis(axis).str();
  return text + "}";
}

std::string proof::describe(const DimType &dim) {
  if (!dim.isCut())
    return "whole, " + std::to_string(dim.full);
  return "cut over " + spell(dim.axes) + " into " + std::to_string(dim.chunk) + " of " + std::to_string(dim.full);
}

std::string proof::describe(const ValueType &type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "[";
  llvm::interleaveComma(type.dims, out, [&](const DimType &dim) {
    if (dim.isCut())
      out << spell(dim.axes) << ":" << dim.chunk << " of ";
    out << dim.full;
  });
  out << "]";
  for (dist::Axis axis : kAxes)
    if (auto kind = type.partialOver(axis))
      out << " partial " << dist::stringifyReduceKind(*kind) << " over " << dist::stringifyAxis(axis);
  return text;
}
