#include "dialects/Graph/EinsumSpec.h"
#include "llvm/ADT/StringExtras.h"

using namespace p3d::graph;

std::optional<EinsumSpec> EinsumSpec::parse(llvm::StringRef text) {
  auto [operands, result] = text.split("->");
  auto [lhs, rhs] = operands.split(",");
  bool arrow = text.contains("->") && operands.contains(",");
  auto isWord = [](llvm::StringRef word) { return llvm::all_of(word, llvm::isAlpha); };
  if (!arrow || !isWord(lhs) || !isWord(rhs) || !isWord(result))
    return std::nullopt;
  return EinsumSpec{lhs.str(), rhs.str(), result.str()};
}

std::string EinsumSpec::letters() const {
  std::string all;
  for (char letter : lhs + rhs + result)
    if (!has(all, letter))
      all += letter;
  return all;
}
