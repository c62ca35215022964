#include "passes/Import/Annotations.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {
constexpr StringLiteral kRemedy = "; export the loss function without it, in global shapes, and give the mesh to p3dc";

// not messages: a pattern for [2,1,4]<=[8] last_tile_dim_replicate: 1 the tiles, 2 the devices, 3 and 5 their shape and its permutation, 6 that the last tile is none
constexpr StringLiteral kDevices = "^devices=\\[([0-9,]+)\\](<=\\[([0-9,]+)\\](T\\(([0-9,]+)\\))?|[0-9,]+)( last_tile_dim_replicate| last_tile_dims=\\{replicated\\})?$";

/// `1,2,3`; nothing if an entry is no number.
std::optional<SmallVector<int64_t>> numbersOf(StringRef text) {
  SmallVector<int64_t> numbers;
  SmallVector<StringRef> words;
  text.split(words, ',', -1, /*KeepEmpty=*/false);
  for (StringRef word : words)
    if (word.trim().getAsInteger(10, numbers.emplace_back()))
      return std::nullopt;
  return numbers;
}

/// The elements of iota over `shape`, transposed by `permutation`.
SmallVector<int64_t> transposedIota(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> strides(shape.size(), 1), elements{0};
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  for (int64_t dim : permutation) {
    SmallVector<int64_t> longer;
    for (int64_t element : elements)
      for (int64_t i = 0; i < shape[dim]; ++i)
        longer.push_back(element + i * strides[dim]);
    elements = std::move(longer);
  }
  return elements;
}

/// Reads `{devices=[2,1,4]<=[8] last_tile_dim_replicate}` and the like.
class GspmdReader {
public:
  GspmdReader(Location location, StringRef text, int64_t rank) : location(location), text(text), rank(rank) {}

  FailureOr<sdy::TensorShardingAttr> run(bool isConstraint) {
    MLIRContext *context = location.getContext();
    StringRef body = text.trim();
    if (!body.consume_front("{") || !body.consume_back("}"))
      return fail();
    if (body == "replicated" || body == "unknown") {
      auto whole = sdy::DimensionShardingAttr::get(context, {}, /*is_closed=*/true, std::nullopt);
      bool saysNothing = !isConstraint || body == "unknown";
      return saysNothing ? sdy::TensorShardingAttr() : make(SmallVector<sdy::DimensionShardingAttr>(rank, whole));
    }
    if (body.contains("manual"))
      return emitError(location) << "'mhlo.sharding = \"" << text << "\"': the module is partitioned already (by shard_map, pmap or another partitioner)" << kRemedy;
    if (body.starts_with("maximal"))
      return emitError(location) << "'mhlo.sharding = \"" << text << "\"' keeps a value on one device; p3dc runs every operation on all ranks: leave out the annotation";
    SmallVector<StringRef> found;
    if (!llvm::Regex(kDevices).match(body, &found))
      return fail();
    auto tiles = numbersOf(found[1]), shape = numbersOf(found[3]), permutation = numbersOf(found[5]);
    SmallVector<int64_t> devices = found[3].empty() ? numbersOf(found[2]).value_or(SmallVector<int64_t>()) : SmallVector<int64_t>();
    if (!found[3].empty()) {
      if (permutation->empty())
        permutation->assign(llvm::seq<int64_t>(0, shape->size()).begin(), llvm::seq<int64_t>(0, shape->size()).end());
      SmallVector<int64_t> sorted(*permutation);
      llvm::sort(sorted);
      if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, shape->size())))
        return fail();
      devices = transposedIota(*shape, *permutation);
    }
    int64_t tiled = tiles->size() - (found[6].empty() ? 0 : 1), all = 1;
    for (int64_t tile : *tiles)
      all *= tile;
    if (all != int64_t(devices.size()) || tiled != rank)
      return fail();
    SmallVector<sdy::DimensionShardingAttr> dims;
    int64_t inner = all;
    for (int64_t d = 0; d < rank; ++d) {
      inner /= (*tiles)[d];
      SmallVector<sdy::AxisRefAttr> axes;
      if ((*tiles)[d] > 1)
        axes.push_back(axisOf((*tiles)[d], devices[inner] - devices[0]));
      dims.push_back(sdy::DimensionShardingAttr::get(context, axes, /*is_closed=*/true, std::nullopt));
    }
    return make(dims);
  }

private:
  InFlightDiagnostic fail() {
    return emitError(location) << "'mhlo.sharding = \"" << text << "\"' is no sharding of " << rank << " dimensions; expected {devices=[TILES]<=[DEVICES]}, or an sdy.sharding";
  }

  sdy::AxisRefAttr axisOf(int64_t size, int64_t distance) {
    MLIRContext *context = location.getContext();
    std::string name = llvm::formatv("{0}x{1}", size, distance);
    auto axis = sdy::MeshAxisAttr::get(context, name, size);
    if (!llvm::is_contained(mesh, axis))
      mesh.push_back(axis);
    return sdy::AxisRefAttr::get(context, name, 0, 0);
  }

  sdy::TensorShardingAttr make(ArrayRef<sdy::DimensionShardingAttr> dims) {
    MLIRContext *context = location.getContext();
    return sdy::TensorShardingAttr::get(context, sdy::MeshAttr::get(context, mesh, {}), dims, {}, {}, "");
  }

  Location location;
  StringRef text;
  int64_t rank;
  SmallVector<sdy::MeshAxisAttr> mesh;
};
} // namespace

FailureOr<sdy::TensorShardingAttr> p3d::import::inlineMesh(ModuleOp module, Location location, sdy::TensorShardingAttr sharding) {
  auto name = dyn_cast<FlatSymbolRefAttr>(sharding.getMeshOrRef());
  if (!name)
    return sharding;
  auto op = SymbolTable::lookupNearestSymbolFrom<sdy::MeshOp>(module, name);
  auto mesh = op ? op.getMesh() : sdy::MeshAttr();
  if (auto attributes = module->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes"); !mesh && attributes)
    if (auto meshes = attributes.getAs<StringAttr>("xla.sdy.meshes"))
      if (auto parsed = dyn_cast_or_null<DictionaryAttr>(parseAttribute(meshes.getValue(), module.getContext())))
        mesh = parsed.getAs<sdy::MeshAttr>(name.getValue());
  if (!mesh)
    return emitError(location) << "is annotated over " << name << ", but the module has no sdy.mesh of that name";
  return sdy::TensorShardingAttr::get(module.getContext(), mesh, sharding.getDimShardings(), sharding.getReplicatedAxes(), sharding.getUnreducedAxes(), sharding.getUnreducedKind());
}

FailureOr<sdy::TensorShardingAttr> p3d::import::readAnnotation(ModuleOp module, Location location, DictionaryAttr attributes, Type type, bool isConstraint) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!attributes || !tensor)
    return sdy::TensorShardingAttr();
  Attribute given = attributes.get("sdy.sharding");
  if (auto frontend = attributes.getAs<DictionaryAttr>("mhlo.frontend_attributes"); !given && frontend)
    if (auto text = frontend.getAs<StringAttr>("xla.sdy.sharding")) {
      given = parseAttribute(text.getValue(), module.getContext());
      if (!given)
        return emitError(location) << "has an xla.sdy.sharding that cannot be read";
    }
  if (auto perValue = dyn_cast_or_null<sdy::TensorShardingPerValueAttr>(given); perValue && perValue.getShardings().size() == 1)
    given = perValue.getShardings().front();
  if (auto sharding = dyn_cast_or_null<sdy::TensorShardingAttr>(given))
    return inlineMesh(module, location, sharding);
  if (given)
    return emitError(location) << "has sdy.sharding = " << given << ", expected #sdy.sharding<@mesh, [..]>";
  if (auto text = attributes.getAs<StringAttr>("mhlo.sharding"))
    return GspmdReader(location, text.getValue(), tensor.getRank()).run(isConstraint);
  return sdy::TensorShardingAttr();
}
