// How the fields of structured attributes are read and written.
#ifndef P3D_DIALECTS_STABLEHLO_STABLEHLOFIELDS_H
#define P3D_DIALECTS_STABLEHLO_STABLEHLOFIELDS_H

#include "dialects/StableHLO/StableHLODialect.h"

#include "llvm/ADT/APFloat.h"

namespace p3d::stablehlo {

/// `[1, 2]` or `[]`.
mlir::FailureOr<llvm::SmallVector<int64_t>> parseDims(mlir::AsmParser &parser);
void printDims(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> dims);

/// `3, ?` or nothing; `?` is ShapedType::kDynamic.
mlir::FailureOr<llvm::SmallVector<int64_t>> parseBounds(mlir::AsmParser &parser);
void printBounds(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> bounds);

mlir::FailureOr<bool> parseBool(mlir::AsmParser &parser);
mlir::FailureOr<llvm::APFloat> parseDouble(mlir::AsmParser &parser);

/// `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`; null after an error.
ConvDimensionNumbersAttr parseConvDimensionNumbers(mlir::AsmParser &parser);
void printConvDimensionNumbers(mlir::AsmPrinter &printer, ConvDimensionNumbersAttr attr);

} // namespace p3d::stablehlo

#endif // P3D_DIALECTS_STABLEHLO_STABLEHLOFIELDS_H
