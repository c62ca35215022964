// The mesh of a compile: sizes of the axes and the order of ranks.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace p3d {

struct Mesh {
  int64_t tp = 1, pp = 1, dp = 1;
  int64_t ranks() const { return tp * pp * dp; }

  /// Parses `4x4x2` (TP x PP x DP) or `tp=4,pp=4,dp=2` (axes left out are 1). Sizes are at least 1 and the ranks at most 1,000,000.
  static llvm::Expected<Mesh> parse(llvm::StringRef text);
};

} // namespace p3d
