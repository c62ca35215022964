#include "compiler/Mesh.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d;

namespace {
constexpr int64_t kMostRanks = 1000000;

llvm::Error fail(llvm::StringRef text, const llvm::Twine &why) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "--mesh=" + text + ": " + why +
                                     "; expected TPxPPxDP like 4x4x2, or tp=4,pp=4,dp=2, each size at least 1");
}

llvm::Error parseSize(llvm::StringRef text, llvm::StringRef word, int64_t &size) {
  if (word.getAsInteger(10, size))
    return fail(text, "'" + word + "' is no number");
  if (size < 1)
    return fail(text, "a size of " + llvm::Twine(size));
  return llvm::Error::success();
}
} // namespace

llvm::Expected<Mesh> Mesh::parse(llvm::StringRef text) {
  Mesh mesh;
  bool named = text.contains('=');
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, named ? ',' : 'x');
  if (!named && words.size() != 3)
    return fail(text, llvm::Twine(words.size()) + " sizes");
  int64_t *const axes[] = {&mesh.tp, &mesh.pp, &mesh.dp};
  llvm::SmallPtrSet<int64_t *, 3> given;
  for (auto [i, word] : llvm::enumerate(words)) {
    int64_t *axis = named ? nullptr : axes[i];
    if (named) {
      auto [name, value] = word.split('=');
      axis = name == "tp" ? axes[0] : name == "pp" ? axes[1] : name == "dp" ? axes[2] : nullptr;
      if (!axis)
        return fail(text, "'" + name + "' is no axis");
      if (!given.insert(axis).second)
        return fail(text, "'" + name + "' is given twice");
      word = value;
    }
    if (llvm::Error error = parseSize(text, word, *axis))
      return std::move(error);
  }
  if (mesh.tp > kMostRanks || mesh.pp > kMostRanks || mesh.dp > kMostRanks || mesh.ranks() > kMostRanks)
    return fail(text, "more than " + llvm::Twine(kMostRanks) + " ranks");
  return mesh;
}
