// The parameters and the batch of a model. A parameter of the user may be held in pieces: layers of a stack, q|k|v.
#include "compiler/ManifestParameters.h"
#include "compiler/Traffic.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Support/Pieces.h"
#include <map>
#include <set>

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;
namespace json = llvm::json;

namespace {
RankedTensorType globalType(BufferOp buffer) {
  return cast<RankedTensorType>(buffer.getGlobalType().value_or(buffer.getType()));
}

StringRef textOf(BufferOp buffer, StringRef attribute) {
  auto text = buffer->getAttrOfType<StringAttr>(attribute);
  return text ? text.getValue() : StringRef();
}

/// The shape of the user's tensor.
SmallVector<int64_t> userShape(BufferOp buffer) {
  if (auto shape = buffer->getAttrOfType<DenseI64ArrayAttr>(graph::kGlobalShapeAttr))
    return SmallVector<int64_t>(shape.asArrayRef());
  return SmallVector<int64_t>(globalType(buffer).getShape());
}

json::Value axesOf(const dist::DimSharding &dim) {
  if (dim.axes.empty())
    return nullptr;
  if (dim.axes.size() == 1)
    return dist::stringifyAxis(dim.axes.front());
  json::Array axes;
  for (dist::Axis axis : dim.axes)
    axes.push_back(dist::stringifyAxis(axis));
  return axes;
}

json::Array shardingOf(BufferOp buffer) {
  auto sharding = buffer->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
  json::Array array;
  for (int64_t dim : matchPieceDims(globalType(buffer).getShape(), buffer->getAttrOfType<DenseI64ArrayAttr>(graph::kPieceShapeAttr)))
    array.push_back(sharding && dim >= 0 && dim < int64_t(sharding.getDims().size()) ? axesOf(sharding.getDims()[dim])
                                                                                     : json::Value(nullptr));
  return array;
}

bool isParameter(BufferOp buffer) {
  StringRef role = textOf(buffer, graph::kRoleAttr);
  return buffer.getKind() == BufferKind::Parameter && (role.empty() || role == "param" || role == "frozen");
}
} // namespace

json::Object p3d::describeParameters(ArrayRef<StageOp> stages) {
  std::map<std::string, std::pair<BufferOp, std::set<int64_t>>> parameters;
  for (StageOp stage : stages)
    for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
      if (isParameter(buffer)) {
        StringRef name = textOf(buffer, graph::kNameAttr);
        auto &[first, holders] = parameters[name.empty() ? buffer.getSymName().str() : name.str()];
        if (!first)
          first = buffer;
        holders.insert(stage.getIndex());
      }
  int64_t total = 0;
  json::Object names;
  for (auto &[name, entry] : parameters) {
    auto &[buffer, holders] = entry;
    SmallVector<int64_t> shape = userShape(buffer);
    int64_t elements = 1;
    for (int64_t size : shape)
      elements *= size;
    total += elements;
    names[name] = json::Object{{"shape", json::Array(shape)},
                               {"dtype", dtypeName(buffer.getTensorType().getElementType())},
                               {"sharding", shardingOf(buffer)},
                               {"stages", json::Array(holders)}};
  }
  return json::Object{{"total", total}, {"names", std::move(names)}};
}

/// The dimension of an input that is cut over replicas; the first where nothing says it.
static int64_t batchDim(BufferOp input) {
  auto sharding = input->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
  return sharding ? std::max(0, sharding.dimOf(dist::Axis::DP)) : 0;
}

BatchSize p3d::findBatchSize(ArrayRef<StageOp> stages) {
  BatchSize batch;
  bool found = false;
  for (StageOp stage : stages)
    for (BufferOp input : stage.getBody().getOps<BufferOp>()) {
      RankedTensorType type = globalType(input);
      if (input.getKind() != BufferKind::Input || type.getRank() == 0)
        continue;
      int64_t rows = type.getDimSize(batchDim(input));
      if (!found)
        batch = {rows, rows};
      found = true;
      if (type.getElementType().isInteger() && type.getRank() == 2)
        return {rows, type.getNumElements()};
    }
  return batch;
}
