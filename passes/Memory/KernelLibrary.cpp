#include "passes/Memory/KernelLibrary.h"

using namespace mlir;
using namespace p3d::memory;

func::FuncOp KernelLibrary::add(func::FuncOp kernel, StringRef name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel.print(stream, OpPrintingFlags().useLocalScope());
  auto [entry, isNew] = byText.try_emplace(stream.str(), kernel);
  if (!isNew) {
    kernel.erase();
    return entry->second;
  }
  unsigned number = byName[name]++;
  kernel.setSymName(number ? ("kernel." + name + "." + Twine(number)).str() : ("kernel." + name).str());
  declareCallees(kernel);
  module.push_back(kernel);
  return kernel;
}

void KernelLibrary::declareCallees(func::FuncOp kernel) {
  kernel.walk([&](func::CallOp call) {
    if (module.lookupSymbol(call.getCallee()))
      return;
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    auto type = builder.getFunctionType(call.getOperandTypes(), call.getResultTypes());
    builder.create<func::FuncOp>(call.getLoc(), call.getCallee(), type).setPrivate();
  });
}
