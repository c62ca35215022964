#include "passes/Support/Reason.h"
#include "mlir/IR/Builders.h"
#include "passes/Support/ParameterNames.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace p3d;

void p3d::annotateReason(Operation *op, const Reason &reason) {
  Builder builder(op->getContext());
  if (!reason.remedy.empty())
    op->setAttr(kRemedyAttr, builder.getStringAttr(reason.remedy));
  SmallVector<StringRef> names(reason.parameters.begin(), reason.parameters.end());
  if (!names.empty())
    op->setAttr(kParametersAttr, builder.getStrArrayAttr(names));
}

void p3d::copyReason(Operation *from, Operation *to) {
  for (StringRef name : {kParametersAttr, kRemedyAttr})
    if (Attribute value = from->getAttr(name))
      to->setAttr(name, value);
}

Reason p3d::joinReasons(ArrayRef<Operation *> ops) {
  llvm::SetVector<StringRef> texts, remedies;
  SmallVector<std::string> names;
  for (Operation *op : ops) {
    texts.insert(reasonOf(op));
    remedies.insert(remedyOf(op));
    llvm::append_range(names, parametersOf(op));
  }
  StringRef remedy = remedies.size() == 1 ? remedies.front() : remedies.front().split("; ").first;
  return {llvm::join(texts, "; "), remedy.str(), generalizeNames(names)};
}

StringRef p3d::reasonOf(Operation *op) {
  auto reason = op->getAttrOfType<StringAttr>("reason");
  return reason ? reason.getValue() : StringRef();
}

StringRef p3d::remedyOf(Operation *op) {
  auto remedy = op->getAttrOfType<StringAttr>(kRemedyAttr);
  return remedy ? remedy.getValue() : StringRef();
}

SmallVector<std::string> p3d::parametersOf(Operation *op) {
  SmallVector<std::string> names;
  if (auto list = op->getAttrOfType<ArrayAttr>(kParametersAttr))
    for (Attribute name : list)
      if (auto text = dyn_cast<StringAttr>(name)) // the IR may have been edited
        names.push_back(text.str());
  return names;
}
