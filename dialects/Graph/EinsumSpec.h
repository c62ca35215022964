// The text of an einsum, "bsd,df->bsf", as its three lists of letters.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace p3d::graph {

struct EinsumSpec {
  std::string lhs, rhs, result;

  /// Parses "ab,bc->ac"; nullopt when the text is not of that form.
  static std::optional<EinsumSpec> parse(llvm::StringRef text);
  std::string str() const { return lhs + "," + rhs + "->" + result; }

  static bool has(const std::string &letters, char letter) { return letters.find(letter) != std::string::npos; }
  /// All letters, in the order in which they first appear.
  std::string letters() const;
};

} // namespace p3d::graph
