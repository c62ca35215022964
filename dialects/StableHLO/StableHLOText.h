// Opens exported text so that the MLIR this project is built with can parse it.
#ifndef P3D_DIALECTS_STABLEHLO_STABLEHLOTEXT_H
#define P3D_DIALECTS_STABLEHLO_STABLEHLOTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace p3d::stablehlo {

/// Opens `path` ("-" is the standard input) with its location ranges blanked. Returns null and sets `errorMessage`
/// when the file cannot be read or holds bytecode.
std::unique_ptr<llvm::MemoryBuffer> openText(llvm::StringRef path, std::string *errorMessage);

/// Newer MLIR prints `loc("file.py":10:4 to :12)`, which MLIR 19 does not parse. Replaces ` to :12` by spaces, so
/// that every other character keeps its place and messages point at the right column.
void blankLocationRanges(llvm::MutableArrayRef<char> text);

} // namespace p3d::stablehlo

#endif // P3D_DIALECTS_STABLEHLO_STABLEHLOTEXT_H
