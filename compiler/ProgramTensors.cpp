#include "compiler/ProgramTensors.h"
#include "mlir/IR/Builders.h"

using namespace llvm;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// Which part of the user's tensor an argument or result holds.
struct Piece {
  SmallVector<int64_t> whole, offset, shape;

  /// Calls fn(position in the piece, position in the whole) for each element of the piece.
  template <typename Fn> void forEach(Fn fn) const {
    Tensor layout;
    layout.shape = whole;
    SmallVector<int64_t> strides = layout.strides(), index(shape.size(), 0);
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    for (int64_t position = 0; position < count; ++position) {
      int64_t source = 0;
      for (auto [i, start, stride] : llvm::zip(index, offset, strides))
        source += (start + i) * stride;
      fn(position, source);
      for (int64_t dim = shape.size() - 1; dim >= 0 && ++index[dim] == shape[dim]; --dim)
        index[dim] = 0;
    }
  }
};

/// The piece that `attributes` describe, the whole of `type` if they are none.
Piece pieceOf(mlir::DictionaryAttr attributes, mlir::RankedTensorType type) {
  auto list = [&](StringRef name) {
    auto attr = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(name) : mlir::DenseI64ArrayAttr();
    return attr ? attr.asArrayRef() : type.getShape();
  };
  Piece piece{SmallVector<int64_t>(list(kGlobalShapeAttr)), {}, {}};
  auto offset = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(kPieceOffsetAttr) : mlir::DenseI64ArrayAttr();
  auto shape = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(kPieceShapeAttr) : mlir::DenseI64ArrayAttr();
  piece.offset = offset ? SmallVector<int64_t>(offset.asArrayRef()) : SmallVector<int64_t>(piece.whole.size(), 0);
  piece.shape = shape ? SmallVector<int64_t>(shape.asArrayRef()) : piece.whole;
  return piece;
}

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

void copy(Tensor &to, int64_t toPosition, const Tensor &from, int64_t fromPosition) {
  if (to.isFloat())
    to.floats[toPosition] = from.floats[fromPosition];
  else
    to.ints[toPosition] = from.ints[fromPosition];
}
} // namespace

Expected<Tensor> p3d::argumentFrom(ProgramOp program, unsigned index, ArrayRef<TensorFile> files) {
  auto type = mlir::cast<mlir::RankedTensorType>(program.getArgumentTypes()[index]);
  auto name = program.getArgAttrOfType<mlir::StringAttr>(index, kNameAttr);
  std::string text = name ? name.str() : "arg" + std::to_string(index);
  auto found = llvm::find_if(files, [&](const TensorFile &file) { return file.has(text); });
  // Gradients are those of the loss itself.
  if (auto role = program.getArgAttrOfType<mlir::StringAttr>(index, kRoleAttr); found == files.end() && role && role.getValue() == kLossScale) {
    Tensor one(type);
    one.floats[0] = 1;
    return one;
  }
  if (found == files.end())
    return createStringError(inconvertibleErrorCode(), "no input file has argument '%s'", text.c_str());
  Expected<Tensor> whole = found->read(text, type.getElementType());
  if (!whole)
    return whole.takeError();
  Piece piece = pieceOf(program.getArgAttrDict(index), type);
  if (ArrayRef<int64_t>(whole->shape) != ArrayRef<int64_t>(piece.whole))
    return createStringError(inconvertibleErrorCode(), "tensor '%s' has shape %s, expected %s", text.c_str(),
                             shapeText(whole->shape).c_str(), shapeText(piece.whole).c_str());
  Tensor tensor(type);
  piece.forEach([&](int64_t position, int64_t source) { copy(tensor, position, *whole, source); });
  return tensor;
}

Expected<std::vector<Tensor>> p3d::argumentsFrom(ProgramOp program, ArrayRef<std::string> paths) {
  std::vector<TensorFile> files;
  for (const std::string &path : paths) {
    Expected<TensorFile> file = TensorFile::open(path);
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
  }
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < program.getNumArguments(); ++i) {
    Expected<Tensor> argument = argumentFrom(program, i, files);
    if (!argument)
      return argument.takeError();
    arguments.push_back(std::move(*argument));
  }
  return arguments;
}

NamedTensors p3d::namedResults(ProgramOp program, ArrayRef<Tensor> results) {
  NamedTensors named;
  StringMap<size_t> places;
  for (auto [i, result] : llvm::enumerate(results)) {
    auto name = program.getResultAttrOfType<mlir::StringAttr>(i, kNameAttr);
    std::string text = name ? name.str() : "result" + std::to_string(i);
    Piece piece = pieceOf(program.getResultAttrDict(i), result.type());
    auto [place, isNew] = places.try_emplace(text, named.size());
    if (isNew)
      named.emplace_back(text, Tensor(piece.whole, result.elementType));
    Tensor &whole = named[place->second].second;
    piece.forEach([&, &from = result](int64_t position, int64_t target) { copy(whole, target, from, position); });
  }
  return named;
}
