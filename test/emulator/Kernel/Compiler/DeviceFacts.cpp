// What a device module says about its kernels and its shared memory before it loses its address spaces.
#include "test/emulator/Kernel/Compiler/KernelCompiler.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include <map>

using namespace llvm;
namespace p3d::emulator {

static constexpr unsigned sharedSpace = 3;

/// Calls `visit(function, key, value)` for each pair of an annotation.
template <typename Visit> static void visitAnnotations(Module &module, Visit visit) {
  NamedMDNode *annotations = module.getNamedMetadata("nvvm.annotations");
  if (!annotations)
    return;
  for (MDNode *node : annotations->operands()) {
    auto *function = node->getNumOperands() ? mdconst::dyn_extract_or_null<Function>(node->getOperand(0)) : nullptr;
    for (unsigned i = 1; function && i + 1 < node->getNumOperands(); i += 2) {
      auto *key = dyn_cast<MDString>(node->getOperand(i));
      auto *value = mdconst::dyn_extract_or_null<ConstantInt>(node->getOperand(i + 1));
      if (key && value)
        visit(function, key->getString(), value->getZExtValue());
    }
  }
}

DeviceFacts readDeviceFacts(Module &module) {
  std::map<Function *, unsigned> kernels;
  for (Function &function : module)
    if (function.getCallingConv() == CallingConv::PTX_Kernel)
      kernels[&function] = 0;
  visitAnnotations(module, [&](Function *function, StringRef key, uint64_t) {
    if (key == "kernel")
      kernels.insert({function, 0});
  });
  visitAnnotations(module, [&](Function *function, StringRef key, uint64_t value) {
    auto found = kernels.find(function);
    if (found == kernels.end() || !key.starts_with("maxntid"))
      return;
    found->second = std::max(found->second, 1u) * unsigned(value);
  });
  DeviceFacts facts;
  for (Function &function : module)
    if (auto found = kernels.find(&function); found != kernels.end() && !function.isDeclaration())
      facts.kernels.push_back({function.getName().str(), found->second});
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == sharedSpace) {
      if (!variable.hasName())
        variable.setName("p3d.shared");
      facts.sharedVariables.push_back(variable.getName().str());
    }
  return facts;
}

} // namespace p3d::emulator
