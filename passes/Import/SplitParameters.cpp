// Makes one argument of each piece of a parameter that is only ever used in pieces: the layers of a stack, q, k and v of a fused projection.
#include "passes/Import/GraphPatterns.h"
#include "passes/Import/Passes.h"
#include "passes/Import/SliceDims.h"
#include "dialects/StableHLO/StableHLO.h"

namespace p3d {
#define GEN_PASS_DEF_SPLITPARAMETERS
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

using Shape = SmallVector<int64_t>;

/// Where an argument lies in the tensor of the user.
struct Origin {
  Shape globalShape, offset, shape;
};

class Splitter {
public:
  explicit Splitter(graph::ProgramOp program) : program(program), builder(program.getContext()) {}

  /// Splits each parameter that can be; false when there was none.
  bool splitOnce() {
    Block &body = program.getBody().front();
    SmallVector<unsigned> places;
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    SmallVector<Location> locations;
    llvm::BitVector old(body.getNumArguments());
    SmallVector<std::pair<Value, Pieces>> splits;
    for (BlockArgument argument : body.getArguments()) {
      std::optional<Pieces> pieces = isParameter(argument) ? findPieces(argument) : std::nullopt;
      if (!pieces || pieces->starts.size() < 2)
        continue;
      for (size_t i = 0; i < pieces->starts.size(); ++i) {
        auto [type, origin] = describe(argument, *pieces, i);
        places.push_back(argument.getArgNumber());
        types.push_back(type);
        attributes.push_back(attributesOf(argument, origin, type.getRank() < graph::tensorType(argument).getRank() ? pieces->dim : -1));
        locations.push_back(argument.getLoc());
      }
      old.set(argument.getArgNumber());
      splits.push_back({argument, *pieces});
    }
    if (splits.empty())
      return false;
    program.insertArguments(places, types, attributes, locations);
    redirect(splits);
    llvm::BitVector erased(body.getNumArguments());
    for (auto &split : splits)
      erased.set(cast<BlockArgument>(split.first).getArgNumber());
    program.eraseArguments(erased);
    return true;
  }

private:
  bool isParameter(BlockArgument argument) {
    auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
    return role && (role.getValue() == "param" || role.getValue() == "frozen");
  }

  Origin originOf(BlockArgument argument) {
    Shape whole(graph::tensorType(argument).getShape());
    auto get = [&](StringRef name) { return program.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), name); };
    if (auto global = get(graph::kGlobalShapeAttr))
      return {Shape(global.asArrayRef()), Shape(get(graph::kPieceOffsetAttr).asArrayRef()), Shape(get(graph::kPieceShapeAttr).asArrayRef())};
    return {whole, Shape(whole.size(), 0), whole};
  }

  /// The dimension of the user's tensor that dimension `dim` of the argument is; unit dimensions may have been dropped.
  static int64_t globalDim(BlockArgument argument, const Origin &origin, int64_t dim) {
    auto map = unitReshapeDims(RankedTensorType::get(origin.shape, graph::tensorType(argument).getElementType()), graph::tensorType(argument));
    return llvm::find(*map, dim) - map->begin();
  }

  /// Type and origin of piece i. The cut dimension is dropped where it is 1 and every use drops it.
  std::pair<RankedTensorType, Origin> describe(BlockArgument argument, const Pieces &pieces, size_t i) {
    Origin origin = originOf(argument);
    auto type = graph::tensorType(argument);
    int64_t dim = globalDim(argument, origin, pieces.dim), size = pieces.sizeOf(i, type.getDimSize(pieces.dim));
    origin.offset[dim] += pieces.starts[i];
    origin.shape[dim] = size;
    Shape shape(type.getShape());
    shape[pieces.dim] = size;
    if (size == 1 && dropsUnit(pieces, i))
      shape.erase(shape.begin() + pieces.dim);
    return {type.clone(shape), origin};
  }

  /// Whether every use of piece i is a reshape that drops the dimension of size 1.
  static bool dropsUnit(const Pieces &pieces, size_t i) {
    for (graph::SliceOp slice : pieces.slices) {
      if (pieces.indexOf(slice) != i)
        continue;
      Shape dropped(slice.getType().getShape());
      dropped.erase(dropped.begin() + pieces.dim);
      for (Operation *user : slice->getUsers()) {
        auto reshape = dyn_cast<graph::ReshapeOp>(user);
        if (!reshape || reshape.getType().getShape() != ArrayRef(dropped))
          return false;
      }
    }
    return true;
  }

  /// `dropped` is the dimension that the piece does not have, or -1.
  DictionaryAttr attributesOf(BlockArgument argument, const Origin &origin, int64_t dropped) {
    NamedAttrList list(program.getArgAttrDict(argument.getArgNumber()));
    auto sharding = dyn_cast_or_null<sdy::TensorShardingAttr>(list.get(graph::kUserShardingAttr));
    if (sharding && dropped >= 0 && dropped < int64_t(sharding.getDimShardings().size()))
      list.set(graph::kUserShardingAttr, withoutDim(sharding, dropped, argument.getLoc()));
    list.set(graph::kGlobalShapeAttr, builder.getDenseI64ArrayAttr(origin.globalShape));
    list.set(graph::kPieceOffsetAttr, builder.getDenseI64ArrayAttr(origin.offset));
    list.set(graph::kPieceShapeAttr, builder.getDenseI64ArrayAttr(origin.shape));
    return list.getDictionary(program.getContext());
  }

  /// The layers of a stack are cut by stages, whatever the annotation says of their dimension.
  static sdy::TensorShardingAttr withoutDim(sdy::TensorShardingAttr sharding, int64_t dim, Location location) {
    SmallVector<sdy::DimensionShardingAttr> dims(sharding.getDimShardings());
    if (!dims[dim].getAxes().empty())
      emitWarning(location) << "the annotation shards dimension " << dim << ", which holds layers; these are cut by pp of --mesh instead";
    dims.erase(dims.begin() + dim);
    return sdy::TensorShardingAttr::get(sharding.getContext(), sharding.getMeshOrRef(), dims, sharding.getReplicatedAxes(), sharding.getUnreducedAxes(),
                                        sharding.getUnreducedKind());
  }

  /// Uses of the slices become uses of the new arguments, which stand before the old one.
  void redirect(ArrayRef<std::pair<Value, Pieces>> splits) {
    for (auto &[value, pieces] : splits) {
      unsigned first = cast<BlockArgument>(value).getArgNumber() - pieces.starts.size();
      for (graph::SliceOp slice : pieces.slices) {
        Value piece = program.getBody().getArgument(first + pieces.indexOf(slice));
        if (piece.getType() == slice.getType()) {
          slice.replaceAllUsesWith(piece);
        } else {
          for (Operation *reshape : llvm::make_early_inc_range(slice->getUsers())) {
            reshape->getResult(0).replaceAllUsesWith(piece);
            reshape->erase();
          }
        }
        slice.erase();
      }
    }
  }

  graph::ProgramOp program;
  Builder builder;
};

struct SplitParametersPass : p3d::impl::SplitParametersBase<SplitParametersPass> {
  void runOnOperation() override {
    // The pieces of a stack's layer may be split again: q, k and v.
    Splitter splitter(getOperation());
    while (splitter.splitOnce())
      ;
  }
};

} // namespace
