#include "passes/Support/Signature.h"

using namespace mlir;
using namespace p3d;

using Edit = llvm::function_ref<void(unsigned, NamedAttrList &)>;

static SmallVector<DictionaryAttr> edited(MLIRContext *context, unsigned count, llvm::function_ref<DictionaryAttr(unsigned)> attributes, Edit edit) {
  return llvm::map_to_vector(llvm::seq(count), [&](unsigned i) {
    NamedAttrList list(attributes(i));
    edit(i, list);
    return list.getDictionary(context);
  });
}

void p3d::editArgumentAttributes(FunctionOpInterface function, Edit edit) {
  function.setAllArgAttrs(edited(function.getContext(), function.getNumArguments(), [&](unsigned i) { return function.getArgAttrDict(i); }, edit));
}

void p3d::editResultAttributes(FunctionOpInterface function, Edit edit) {
  function.setAllResultAttrs(edited(function.getContext(), function.getNumResults(), [&](unsigned i) { return function.getResultAttrDict(i); }, edit));
}
