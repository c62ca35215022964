#include "compiler/SpmdLayout.h"
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace p3d;
using namespace p3d::spmd;
using graph::Tensor;
using graph::interpreter::copyElement;
using graph::interpreter::forEachIndex;
using graph::interpreter::positionOf;

namespace {
/// No index, count or id of a real program.
constexpr int64_t kPoison = 0x5a5a5a5a5a5a5a5a;

void poison(Tensor &tensor, int64_t position) {
  if (tensor.isFloat())
    tensor.floats[position] = std::numeric_limits<double>::quiet_NaN();
  else
    tensor.ints[position] = graph::wrapInteger(kPoison, tensor.elementType);
}

/// Where a shard begins in the whole, in each dimension.
SmallVector<int64_t> startOf(dist::ShardingAttr sharding, const Place &place, dist::MeshAttr mesh) {
  return llvm::map_to_vector(sharding.getDims(), [&](const dist::DimSharding &dim) { return place.indexOn(dim.axes, mesh) * dim.chunk; });
}

/// Calls fn(position in the shard, position in the whole) for each element of the shard at `start`, -1 for one that is padding.
template <typename Fn> void forEachElement(const Tensor &shard, const Tensor &whole, ArrayRef<int64_t> start, Fn fn) {
  SmallVector<int64_t> strides = whole.strides();
  forEachIndex(shard.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    int64_t there = positionOf(index, strides) + positionOf(start, strides);
    for (auto [i, first, size] : llvm::zip(index, start, whole.shape))
      if (i + first >= size)
        there = -1;
    fn(position, there);
  });
}

double elementOf(const Tensor &tensor, int64_t position) { return tensor.isFloat() ? tensor.floats[position] : double(tensor.ints[position]); }

bool areSame(const Tensor &a, int64_t i, const Tensor &b, int64_t j) {
  if (!a.isFloat())
    return a.ints[i] == b.ints[j];
  return a.floats[i] == b.floats[j] || (std::isnan(a.floats[i]) && std::isnan(b.floats[j]));
}
} // namespace

Place Place::ofRank(size_t rank, int64_t microbatch, dist::MeshAttr mesh) { return {int64_t(rank) % mesh.getTp(), int64_t(rank) / mesh.getTp(), microbatch}; }

int64_t Place::indexOn(dist::Axis axis, dist::MeshAttr mesh) const {
  switch (axis) {
  case dist::Axis::TP:
    return tp;
  case dist::Axis::TPMajor:
    return tp / mesh.getTpMinor();
  case dist::Axis::TPMinor:
    return tp % mesh.getTpMinor();
  case dist::Axis::DP:
    return dp;
  case dist::Axis::MB:
    return mb;
  case dist::Axis::PP:
    break;
  }
  llvm_unreachable("pp cuts no dimension");
}

Place Place::movedTo(dist::Axis axis, int64_t index, dist::MeshAttr mesh) const {
  Place place = *this;
  int64_t by = index - indexOn(axis, mesh);
  if (axis == dist::Axis::DP)
    place.dp += by;
  else if (axis == dist::Axis::MB)
    place.mb += by;
  else
    place.tp += axis == dist::Axis::TPMajor ? by * mesh.getTpMinor() : by;
  return place;
}

int64_t Place::indexOn(ArrayRef<dist::Axis> axes, dist::MeshAttr mesh) const {
  int64_t index = 0;
  for (dist::Axis axis : axes)
    index = index * mesh.getSize(axis) + indexOn(axis, mesh);
  return index;
}

std::string Place::describe() const { return llvm::formatv("tp={0} dp={1} mb={2}", tp, dp, mb).str(); }

SmallVector<size_t> p3d::spmd::peersOf(size_t rank, dist::Axis axis, dist::MeshAttr mesh) {
  SmallVector<size_t> peers;
  for (int64_t i = 0; i < mesh.getSize(axis); ++i) {
    Place place = Place::ofRank(rank, 0, mesh).movedTo(axis, i, mesh);
    peers.push_back(place.dp * mesh.getTp() + place.tp);
  }
  return peers;
}

Tensor p3d::spmd::rowsOf(const Tensor &whole, int64_t dim, int64_t start, int64_t count) {
  SmallVector<int64_t> shape = whole.shape, offset(whole.rank(), 0);
  shape[dim] = count;
  offset[dim] = start;
  Tensor rows(shape, whole.elementType);
  forEachElement(rows, whole, offset, [&](int64_t position, int64_t there) {
    if (there >= 0)
      copyElement(rows, position, whole, there);
  });
  return rows;
}

void p3d::spmd::placeRows(Tensor &whole, int64_t dim, int64_t start, const Tensor &rows) {
  SmallVector<int64_t> offset(whole.rank(), 0);
  offset[dim] = start;
  forEachElement(rows, whole, offset, [&](int64_t position, int64_t there) {
    if (there >= 0)
      copyElement(whole, there, rows, position);
  });
}

void p3d::spmd::fillRows(Tensor &tensor, int64_t dim, int64_t start, double value) {
  unsigned width = tensor.elementType.getIntOrFloatBitWidth();
  bool isUnsigned = tensor.elementType.isUnsignedInteger() || width == 1;
  int64_t lowest = isUnsigned ? 0 : llvm::minIntN(width), highest = isUnsigned ? llvm::maxUIntN(width) : llvm::maxIntN(width);
  int64_t number = !std::isinf(value) ? int64_t(value) : value < 0 ? lowest : highest;
  forEachIndex(tensor.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    if (index[dim] < start)
      return;
    if (tensor.isFloat())
      tensor.floats[position] = value;
    else
      tensor.ints[position] = graph::wrapInteger(number, tensor.elementType);
  });
}

Tensor p3d::spmd::shardOf(const Tensor &whole, dist::ShardingAttr sharding, const Place &place, dist::MeshAttr mesh) {
  Tensor shard(sharding.localShape(whole.shape, mesh), whole.elementType);
  forEachElement(shard, whole, startOf(sharding, place, mesh), [&](int64_t position, int64_t there) {
    if (there >= 0)
      copyElement(shard, position, whole, there);
    else
      poison(shard, position);
  });
  return shard;
}

void Assembly::add(const Place &place, Tensor shard) {
  Place first = place;
  for (dist::Axis axis : sharding.getUnreduced())
    first = first.movedTo(axis, 0, mesh);
  for (auto &[known, sum] : shards)
    if (std::tie(known.tp, known.dp, known.mb) == std::tie(first.tp, first.dp, first.mb))
      return combineInto(sum, shard, graph::ReduceKind(uint32_t(sharding.getReduce())));
  shards.emplace_back(first, std::move(shard));
}

std::optional<std::string> Assembly::finish(bool isPaddedWithZeros) {
  std::vector<const Place *> source(whole.size(), nullptr);
  std::optional<std::string> fault;
  for (const auto &[from, shard] : shards) {
    const Place *place = &from;
    forEachElement(shard, whole, startOf(sharding, from, mesh), [&, &shard = shard](int64_t position, int64_t there) {
      if (fault)
        return;
      if (there < 0) {
        if (isPaddedWithZeros && elementOf(shard, position) != 0)
          fault = llvm::formatv("has {0} in its padding on {1}, expected 0", elementOf(shard, position), place->describe());
      } else if (!source[there]) {
        source[there] = place;
        copyElement(whole, there, shard, position);
      } else if (!areSame(whole, there, shard, position)) {
        fault = llvm::formatv("is replicated, but element {0} is {1} on {2} and {3} on {4}", there, elementOf(whole, there), source[there]->describe(),
                              elementOf(shard, position), place->describe());
      }
    });
  }
  if (!fault && llvm::is_contained(source, nullptr))
    fault = "has elements that no rank holds";
  return fault;
}
