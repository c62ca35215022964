// A reshape keeps elements in row-major order: rows [i * chunk, ..) of a major dimension are elements [i * chunk *
// minor, ..), whatever the dimensions are called.
#include "passes/Partition/Proof/OpTyping.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::partition;
using namespace p3d::partition::proof;

namespace {
/// Dimensions [begin, end) of one side of a reshape, with as many elements as their group on the other side.
struct Group {
  size_t begin, end;
};

/// The cut dimension of `group` (kept in `at`), if it is the only one and what stands before it is of size 1; an error
/// text otherwise.
StringRef findCut(ArrayRef<DimType> dims, Group group, std::optional<size_t> &at) {
  for (size_t d = group.begin; d < group.end; ++d) {
    if (!dims[d].isCut())
      continue;
    if (at)
      return "two of its dimensions that are joined are cut";
    for (size_t before = group.begin; before < d; ++before)
      if (dims[before].full != 1)
        return "the cut dimension is joined behind another, so that a shard is no row of elements";
    at = d;
  }
  return "";
}

class ReshapeTyper {
public:
  ReshapeTyper(graph::ReshapeOp op, const ValueType &operand, ValueType result, dist::MeshAttr mesh)
      : op(op), operand(operand), result(std::move(result)), mesh(mesh) {}

  FailureOr<ValueTypes> run() {
    int64_t fromCount = 1, toCount = 1;
    for (const DimType &dim : operand.dims)
      fromCount *= dim.full;
    for (const DimType &dim : result.dims)
      toCount *= dim.full;
    if (fromCount != toCount)
      return refuse("their whole sizes are not the same");
    size_t i = 0, j = 0;
    while (i < operand.dims.size() || j < result.dims.size()) {
      Group from{i, i}, to{j, j};
      int64_t left = 1, right = 1;
      // Each side takes a dimension, then the smaller one more; sizes of 1 at the end join the last group.
      do {
        if ((left <= right && i < operand.dims.size()) || j == result.dims.size())
          left *= operand.dims[i++].full;
        else
          right *= result.dims[j++].full;
      } while (left != right || (j == to.begin && j < result.dims.size()) ||
               (i == from.begin && i < operand.dims.size()));
      from.end = i;
      to.end = j;
      if (failed(checkGroup(from, to)))
        return failure();
    }
    ValueTypes results{std::move(result)};
    if (failed(checkPartial(results.front())))
      return failure();
    return results;
  }

private:
  InFlightDiagnostic refuse(StringRef why) {
    InFlightDiagnostic error = op.emitOpError();
    error << "of " << describe(operand) << " cannot be " << describe(result) << ": " << why
          << "; gather what is cut before, or mend dist.sharding and dist.global_type";
    noteOperand(error, op, 0, operand);
    return error;
  }

  LogicalResult checkGroup(Group from, Group to) {
    std::optional<size_t> cut, cutResult;
    StringRef why = findCut(operand.dims, from, cut);
    if (why.empty())
      why = findCut(result.dims, to, cutResult);
    if (!why.empty())
      return refuse(why);
    if (!cut && !cutResult)
      return success();
    if (!cut || !cutResult || operand.dims[*cut].axes != result.dims[*cutResult].axes)
      return refuse("their elements are cut over different axes");
    if (elementsOfShard(operand.dims, *cut, from) != elementsOfShard(result.dims, *cutResult, to))
      return refuse("their shards do not have the same elements");
    DimType &dim = result.dims[*cutResult];
    dim.padding = dim.isUneven(mesh) ? operand.dims[*cut].padding : std::nullopt;
    return success();
  }

  static int64_t elementsOfShard(ArrayRef<DimType> dims, size_t cut, Group group) {
    int64_t count = dims[cut].chunk;
    for (size_t d = cut + 1; d < group.end; ++d)
      count *= dims[d].full;
    return count;
  }

  /// What is declared of the result's dimensions is checked above; partial it is as its operand.
  LogicalResult checkPartial(ValueType &type) {
    ValueType declared = type;
    type.partial = {};
    const ValueType *types[] = {&operand};
    if (failed(passPartial(op, types, type)))
      return failure();
    if (op->hasAttr(dist::kShardingAttr) && type.partial != declared.partial)
      return op.emitOpError() << "says that its result is " << describe(declared) << ", but it is " << describe(type)
                              << "; say the latter";
    return success();
  }

  graph::ReshapeOp op;
  const ValueType &operand;
  ValueType result;
  dist::MeshAttr mesh;
};
} // namespace

FailureOr<ValueTypes> proof::typeReshape(graph::ReshapeOp op, OperandTypes operands, dist::MeshAttr mesh) {
  auto declared = readDeclared(op, "result", op->getAttr(dist::kShardingAttr), op->getAttr(dist::kGlobalTypeAttr),
                               op.getType(), mesh);
  if (failed(declared))
    return failure();
  return ReshapeTyper(op, *operands[0], *declared, mesh).run();
}
