// Moves a device module to the host: layout, triple, attributes, address spaces; then links the device functions.
#include "test/emulator/Kernel/Compiler/KernelCompiler.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
namespace p3d::emulator {

/// Inlining asks that caller and callee are compiled for the same processor: this one.
static void setProcessor(Module &module) {
  std::string features;
  for (auto &feature : sys::getHostCPUFeatures())
    features += (features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  for (Function &function : module) {
    for (StringRef name : {"target-cpu", "target-features", "tune-cpu", "denormal-fp-math", "denormal-fp-math-f32",
                           "stack-protector-buffer-size", "min-legal-vector-width"})
      function.removeFnAttr(name);
    function.removeFnAttr(Attribute::StackProtectStrong);
    function.addFnAttr("target-cpu", sys::getHostCPUName());
    function.addFnAttr("target-features", features);
  }
}

static void dropCallingConventions(Module &module) {
  for (Function &function : module) {
    function.setCallingConv(CallingConv::C);
    for (BasicBlock &block : function)
      for (Instruction &instruction : block)
        if (auto *call = dyn_cast<CallBase>(&instruction))
          call->setCallingConv(CallingConv::C);
  }
}

static void replaceAll(std::string &text, StringRef from, StringRef to) {
  for (size_t at = 0; (at = text.find(from.data(), at, from.size())) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to.data(), to.size());
}

/// In text, dropping an address space is dropping its words; names of intrinsics are mended when they are parsed.
static std::unique_ptr<Module> dropAddressSpaces(Module &module) {
  std::string text;
  raw_string_ostream(text) << module;
  for (const char *space : {"1", "3", "4", "5"})
    replaceAll(text, std::string(" addrspace(") + space + ")", "");
  replaceAll(text, "addrspacecast", "bitcast");
  SMDiagnostic diagnostic;
  auto result = parseAssemblyString(text, diagnostic, module.getContext());
  if (!result) {
    diagnostic.print("emulator", errs());
    refuse("the module cannot be read without its address spaces");
  }
  return result;
}

std::unique_ptr<Module> hostForm(std::unique_ptr<Module> module, std::unique_ptr<Module> device,
                                 const DataLayout &layout, StringRef triple) {
  for (Module *part : {module.get(), device.get()}) {
    part->setDataLayout(layout);
    part->setTargetTriple(triple);
    dropCallingConventions(*part);
    if (NamedMDNode *flags = part->getModuleFlagsMetadata())
      part->eraseNamedMetadata(flags);
  }
  std::unique_ptr<Module> host = dropAddressSpaces(*module);
  if (Linker::linkModules(*host, std::move(device)))
    refuse("the device functions do not fit the calls of the module");
  setProcessor(*host);
  return host;
}

} // namespace p3d::emulator
