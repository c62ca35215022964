// What the translation from StableHLO to graph shares: the map of values, the table of converters, small builders of graph operations.
#pragma once

#include "passes/Import/Passes.h"
#include "mlir/IR/IRMapping.h"
#include <functional>

namespace p3d::import {

/// One translation in progress. Converters read graph values of their operands and bind those of their results.
class Translation {
public:
  Translation(mlir::OpBuilder &builder) : builder(builder) {}

  mlir::OpBuilder &builder;

  /// The graph value of a StableHLO value; the translation goes in the order of definitions, so it exists.
  mlir::Value get(mlir::Value value) { return values.lookup(value); }
  void bind(mlir::Value value, mlir::Value graphValue) { values.map(value, graphValue); }

  /// Builds a graph operation at the builder.
  template <typename OpTy, typename... Args>
  OpTy create(mlir::Location loc, Args &&...args) {
    return builder.create<OpTy>(loc, std::forward<Args>(args)...);
  }

private:
  mlir::IRMapping values;
};

using Converter = std::function<mlir::LogicalResult(mlir::Operation *, Translation &)>;

/// Which operations import takes, and how each is translated.
class ConverterTable {
public:
  ConverterTable();

  const Converter *lookup(mlir::Operation *op) const {
    auto it = converters.find(op->getName().getStringRef());
    return it == converters.end() ? nullptr : &it->second;
  }

  template <typename OpTy>
  void add(std::function<mlir::LogicalResult(OpTy, Translation &)> convert) {
    converters[OpTy::getOperationName()] = [convert](mlir::Operation *op, Translation &translation) {
      return convert(llvm::cast<OpTy>(op), translation);
    };
  }

  /// For operations of a dialect that is not linked.
  void addNamed(llvm::StringRef name, Converter convert) { converters[name] = std::move(convert); }

private:
  llvm::StringMap<Converter> converters;
};

void addElementwiseConverters(ConverterTable &table);
void addShapeConverters(ConverterTable &table);
void addContractionConverters(ConverterTable &table);
void addReductionConverters(ConverterTable &table);
void addIndexingConverters(ConverterTable &table);
void addAnnotationConverters(ConverterTable &table);

/// Whether a custom call of this target is translated: identities that carry a hint, and top-k.
bool isKnownCustomCall(llvm::StringRef target);

//===--------------------------------------------------------------------------------------------------------------===//
// Builders: each returns its operand where the operation would do nothing
//===--------------------------------------------------------------------------------------------------------------===//

using Dims = llvm::ArrayRef<int64_t>;
mlir::Value reshape(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, Dims shape);
mlir::Value transpose(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, Dims permutation);
/// The part [start, start + size) of dimension `dim`.
mlir::Value sliceDim(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t dim, int64_t start, int64_t size);
mlir::Value concat(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange values, int64_t dim);
mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, Dims shape, Dims dims);
/// A tensor of `type` whose elements are all `value`, converted to its element type.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, double value);

/// The operation that the region of a reduction or scatter applies to its two arguments, null when the region is not of that form.
mlir::Operation *singleCombiner(mlir::Region &region);

} // namespace p3d::import
