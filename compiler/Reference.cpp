#include "compiler/Reference.h"
#include "dialects/Dist/DistOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace p3d;

static DictionaryAttr withoutShardings(DictionaryAttr attributes) {
  SmallVector<NamedAttribute> kept;
  for (NamedAttribute attribute : attributes ? attributes.getValue() : ArrayRef<NamedAttribute>())
    if (!attribute.getName().getValue().starts_with("dist."))
      kept.push_back(attribute);
  return attributes ? DictionaryAttr::get(attributes.getContext(), kept) : attributes;
}

void p3d::removeShardings(ModuleOp sharded) {
  sharded.walk([](dist::ReshardOp reshard) {
    reshard.replaceAllUsesWith(reshard.getOperand());
    reshard.erase();
  });
  sharded.walk([](Operation *op) {
    op->setDiscardableAttrs(withoutShardings(op->getDiscardableAttrDictionary()));
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.setArgAttrs(i, withoutShardings(function.getArgAttrDict(i)));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.setResultAttrs(i, withoutShardings(function.getResultAttrDict(i)));
  });
}

llvm::Error p3d::writeReference(ModuleOp module, StringRef path) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return llvm::createFileError(path, error);
  module.print(stream, OpPrintingFlags().enableDebugInfo());
  stream.close();
  error = stream.error();
  stream.clear_error();
  return error ? llvm::createFileError(path, error) : llvm::Error::success();
}
