// Opens exported text so that the MLIR this project is built with can parse it.
#ifndef P3D_DIALECTS_STABLEHLO_STABLEHLOTEXT_H
#define P3D_DIALECTS_STABLEHLO_STABLEHLOTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace p3d::stablehlo {

/// Opens `path` ("-" is the standard input) and blanks what only printers of another version or a log write. Returns
/// null and sets `errorMessage` when the file cannot be read or is no text.
std::unique_ptr<llvm::MemoryBuffer> openText(llvm::StringRef path, std::string *errorMessage);

/// Replaces by spaces, so that every other character keeps its place and messages point at the right column:
/// - the range in `loc("file.py":10:4 to :12)`, which newer MLIR prints and MLIR 19 does not parse;
/// - lines that start with `---`, the banners around a module in a dump.
void blankForeignText(llvm::MutableArrayRef<char> text);

} // namespace p3d::stablehlo

#endif // P3D_DIALECTS_STABLEHLO_STABLEHLOTEXT_H
