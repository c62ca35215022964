#include "compiler/Reference.h"
#include "dialects/Dist/DistOps.h"
#include "passes/Support/Signature.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace p3d;

static void dropShardings(NamedAttrList &attributes) {
  NamedAttrList kept;
  for (NamedAttribute attribute : attributes)
    if (!attribute.getName().getValue().starts_with("dist."))
      kept.push_back(attribute);
  attributes = kept;
}

void p3d::removeShardings(ModuleOp sharded) {
  sharded.walk([](dist::ReshardOp reshard) {
    reshard.replaceAllUsesWith(reshard.getOperand());
    reshard.erase();
  });
  sharded.walk([](Operation *op) {
    NamedAttrList attributes(op->getDiscardableAttrDictionary());
    dropShardings(attributes);
    op->setDiscardableAttrs(attributes.getDictionary(op->getContext()));
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return;
    auto edit = [](unsigned, NamedAttrList &attributes) { dropShardings(attributes); };
    editArgumentAttributes(function, edit);
    editResultAttributes(function, edit);
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
