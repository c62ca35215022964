// Formulas over indices: operands must hold the same rows of each index; what a cut index leaves out of a result makes
// it partial.
#include "passes/Partition/Proof/OpTyping.h"
#include "passes/Partition/Proof/OpIndices.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::partition;
using namespace p3d::partition::proof;
using graph::tensorType;

namespace {
/// A dimension of an operand.
struct Place {
  unsigned operand, dim;
};

class FormulaTyper {
public:
  FormulaTyper(Operation *op, OperandTypes operands, dist::MeshAttr mesh, OpIndices indices)
      : op(op), operands(operands), mesh(mesh), indices(std::move(indices)) {}

  FailureOr<ValueTypes> run() {
    FailureOr<std::optional<ValueType>> declared = readClaim();
    if (failed(declared) || failed(unify()) || failed(makeDims(*declared)) || failed(checkWhole()) ||
        failed(checkPositions()) || failed(checkProduct()) || failed(checkAxes()) || failed(checkPadding()))
      return failure();
    ValueTypes results;
    for (auto [result, dims] : llvm::zip(op->getResults(), indices.results))
      results.push_back(typeResult(result, dims));
    for (ValueType &result : results)
      if (failed(passPartial(op, operands, result)))
        return failure();
    if (*declared && !results.front().liesAs(**declared))
      return op->emitOpError() << "says that its result is " << describe(**declared) << ", but it is "
                               << describe(results.front()) << "; say the latter";
    for (auto [result, type] : llvm::zip(op->getResults(), results))
      for (auto [d, dim] : llvm::enumerate(type.dims))
        if (dim.chunk != tensorType(result).getDimSize(d))
          return op->emitOpError() << "has a result whose dimension " << d << " has "
                                   << tensorType(result).getDimSize(d)
                                   << " rows on each rank, but its operands make it " << describe(dim);
    return results;
  }

private:
  FailureOr<std::optional<ValueType>> readClaim() {
    Attribute sharding = op->getAttr(dist::kShardingAttr);
    if (!sharding)
      return std::optional<ValueType>();
    auto type =
        readDeclared(op, "result", sharding, op->getAttr(dist::kGlobalTypeAttr), tensorType(op->getResult(0)), mesh);
    if (failed(type))
      return failure();
    return std::optional<ValueType>(std::move(*type));
  }

  const DimType &dimAt(Place place) const { return operands[place.operand]->dims[place.dim]; }

  /// Operands hold the same rows of an index.
  LogicalResult unify() {
    dims.resize(indices.indices.size());
    first.resize(indices.indices.size());
    for (auto [o, indexes] : llvm::enumerate(indices.operands))
      for (auto [d, index] : llvm::enumerate(indexes)) {
        Place place{unsigned(o), unsigned(d)};
        if (index == kUnit && dimAt(place).isCut())
          return isCutUnit(place);
        if (index == kUnit)
          continue;
        if (!first[index]) {
          first[index] = place;
          dims[index] = dimAt(place);
        } else if (!dims[index].liesAs(dimAt(place))) {
          return differs(*first[index], place);
        }
      }
    return success();
  }

  /// All shards but the first have nothing of it.
  LogicalResult isCutUnit(Place place) {
    InFlightDiagnostic error = op->emitOpError();
    error << "repeats dimension " << place.dim << " of operand " << place.operand << ", which is "
          << describe(dimAt(place)) << ": only one rank has it; gather it before by dist.all_gather";
    noteOperand(error, op, place.operand, *operands[place.operand]);
    return error;
  }

  LogicalResult differs(Place a, Place b) {
    InFlightDiagnostic error = op->emitOpError();
    error << "pairs dimension " << a.dim << " of operand " << a.operand << " (" << describe(dimAt(a))
          << ") with dimension " << b.dim << " of operand " << b.operand << " (" << describe(dimAt(b))
          << "); each rank needs the same rows of both: "
          << (dimAt(a).isCut() && dimAt(b).isCut() ? "move one by dist.all_to_all or dist.all_gather"
                                                   : "gather the one that is cut, or slice the other alike");
    noteOperand(error, op, a.operand, *operands[a.operand]);
    noteOperand(error, op, b.operand, *operands[b.operand]);
    return error;
  }

  /// Indices that no operand has are made by the op: as it says, else whole.
  LogicalResult makeDims(const std::optional<ValueType> &declared) {
    auto shard = op->getAttrOfType<dist::ShardAttr>(dist::kShardAttr);
    for (auto [r, indexes] : llvm::enumerate(indices.results))
      for (auto [d, index] : llvm::enumerate(indexes)) {
        if (index == kUnit || first[index])
          continue;
        int64_t size = tensorType(op->getResult(r)).getDimSize(d);
        dims[index] = declared && r == 0 ? declared->dims[d] : DimType::whole(size);
        if (indices.indices[index].positional && shard && shard.getDim() == int64_t(d))
          dims[index] = declaredDim(shard, mesh);
      }
    return success();
  }

  LogicalResult checkWhole() {
    for (auto [i, index] : llvm::enumerate(indices.indices)) {
      if (!dims[i].isCut() || index.wholeBecause.empty())
        continue;
      InFlightDiagnostic error = op->emitOpError();
      error << "needs all rows of " << placeOf(i) << ", which is " << describe(dims[i]) << ": " << index.wholeBecause
            << "; gather it before by dist.all_gather";
      if (first[i])
        noteOperand(error, op, first[i]->operand, *operands[first[i]->operand]);
      return error;
    }
    return success();
  }

  std::string placeOf(int index) const {
    if (first[index])
      return ("dimension " + Twine(first[index]->dim) + " of operand " + Twine(first[index]->operand)).str();
    for (const auto &dims : indices.results)
      for (auto [d, found] : llvm::enumerate(dims))
        if (found == index)
          return ("dimension " + Twine(d) + " of its result").str();
    llvm_unreachable("an index stands somewhere");
  }

  /// dist.shard says what the operands' types say.
  LogicalResult checkPositions() {
    auto shard = op->getAttrOfType<dist::ShardAttr>(dist::kShardAttr);
    dist::ShardAttr needed;
    for (auto [i, index] : llvm::enumerate(indices.indices)) {
      if (!index.positional || !dims[i].isCut())
        continue;
      needed = dist::ShardAttr::get(op->getContext(), dimOfIndex(i), axesInAttributes(dims[i].axes), dims[i].chunk,
                                    dims[i].full);
    }
    if (shard == needed)
      return success();
    InFlightDiagnostic error = op->emitOpError();
    if (!needed)
      return error << "has dist.shard, but nothing that it finds by position is cut; leave it out";
    error << "finds rows by position in a dimension that is cut and ";
    if (shard)
      error << "has dist.shard = " << shard;
    else
      error << "has no dist.shard";
    return error << "; it needs dist.shard = " << needed;
  }

  int64_t dimOfIndex(int index) const {
    for (const auto &lists : {indices.operands, indices.results})
      for (const auto &dims : lists)
        for (auto [d, found] : llvm::enumerate(dims))
          if (found == index)
            return d;
    llvm_unreachable("an index stands somewhere");
  }

  /// Heads h of the query read heads h / ratio of the key: within a shard only where both are cut in that ratio.
  LogicalResult checkProduct() {
    if (!indices.productAndMajor)
      return success();
    const DimType &product = dims[indices.productAndMajor->first], &major = dims[indices.productAndMajor->second];
    ArrayRef<dist::Axis> axes(product.axes), inner = axes.drop_front(std::min(axes.size(), major.axes.size()));
    int64_t ratio = product.full / major.full, innerParts = 1;
    for (dist::Axis axis : inner)
      innerParts *= mesh.getSize(axis);
    bool isPrefix = axes.drop_back(inner.size()) == ArrayRef<dist::Axis>(major.axes);
    // Ranks that share key heads share one, so that which of them a rank reads does not depend on the rank.
    if (isPrefix && product.full % major.full == 0 && product.chunk * innerParts == ratio * major.chunk &&
        (inner.empty() || major.chunk == 1))
      return success();
    return op->emitOpError() << "has query heads that are " << describe(product) << ", and key heads that are "
                             << describe(major)
                             << "; a rank needs the key heads that its query heads read, and no others";
  }

  /// An axis cuts one index: ranks hold blocks of one dimension, not diagonal blocks of two.
  LogicalResult checkAxes() {
    for (dist::Axis axis : kAxes) {
      int found = -1;
      for (auto [i, dim] : llvm::enumerate(dims)) {
        if (!dim.isCutBy(axis) || (indices.productAndMajor && int(i) == indices.productAndMajor->second))
          continue;
        if (found >= 0)
          return op->emitOpError() << "combines " << placeOf(found) << " with " << placeOf(i) << ", both cut over "
                                   << dist::stringifyAxis(axis)
                                   << ": a rank would have the diagonal blocks only; gather one of them";
        found = i;
      }
    }
    return success();
  }

  bool isReduced(int index) const {
    return llvm::any_of(indices.results, [&](const auto &dims) { return isMissing(dims, index); });
  }
  bool isMissing(ArrayRef<int> resultDims, int index) const {
    if (llvm::is_contained(resultDims, index))
      return false;
    // A product and its major part stand for each other.
    auto pair = indices.productAndMajor;
    return !pair || !((pair->first == index && llvm::is_contained(resultDims, pair->second)) ||
                      (pair->second == index && llvm::is_contained(resultDims, pair->first)));
  }

  /// What is combined over an uneven dimension has padding that adds nothing.
  LogicalResult checkPadding() {
    for (auto [i, index] : llvm::enumerate(indices.indices)) {
      if (!dims[i].isCut() || !dims[i].isUneven(mesh) || index.positional || !isReduced(i))
        continue;
      double neutral = neutralPadding(op);
      for (auto [o, indexes] : llvm::enumerate(indices.operands))
        for (auto [d, found] : llvm::enumerate(indexes)) {
          if (found != int(i) || operands[o]->dims[d].padding == neutral)
            continue;
          InFlightDiagnostic error = op->emitOpError();
          error << "combines the rows of dimension " << d << " of operand " << o << ", " << describe(dims[i])
                << ", and those beyond the end hold ";
          if (auto padding = operands[o]->dims[d].padding)
            error << *padding;
          else
            error << "anything";
          error << "; set them to " << neutral << " before by dist.mask_padding";
          noteOperand(error, op, o, *operands[o]);
          return error;
        }
    }
    return success();
  }

  ValueType typeResult(Value result, ArrayRef<int> indexes) {
    ValueType type;
    for (int index : indexes) {
      type.dims.push_back(index == kUnit ? DimType::whole(1) : dims[index]);
      DimType &dim = type.dims.back();
      dim.padding =
          dim.isCut() && dim.isUneven(mesh) ? resultPadding(op, indices, index, operands, result) : std::nullopt;
    }
    for (auto [i, index] : llvm::enumerate(indices.indices))
      for (dist::Axis axis : dims[i].axes)
        if (!llvm::is_contained(indexes, int(i)) && type.dimOf(axis) < 0)
          type.partialOver(axis) = index.reduce;
    return type;
  }

  Operation *op;
  OperandTypes operands;
  dist::MeshAttr mesh;
  OpIndices indices;
  SmallVector<DimType> dims;               ///< of each index
  SmallVector<std::optional<Place>> first; ///< the first operand that has it
};
} // namespace

FailureOr<ValueTypes> proof::typeFormula(Operation *op, OperandTypes operands, dist::MeshAttr mesh) {
  std::optional<OpIndices> indices = indicesOf(op, operands);
  if (!indices)
    return op->emitOpError()
           << "has no rule that says what it makes of parts; add one to passes/Partition/Proof/OpIndices.cpp";
  return FormulaTyper(op, operands, mesh, std::move(*indices)).run();
}

FailureOr<ValueTypes> proof::typeOp(Operation *op, OperandTypes operands, dist::MeshAttr mesh) {
  if (isa<dist::DistDialect>(op->getDialect()))
    return typeMovement(op, *operands[0], mesh);
  if (auto reshape = dyn_cast<graph::ReshapeOp>(op))
    return typeReshape(reshape, operands, mesh);
  return typeFormula(op, operands, mesh);
}
