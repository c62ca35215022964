// The table by which the executor finds the kernels of a compiled module (struct P3dKernel).
#include "test/emulator/Kernel/Compiler/KernelCompiler.h"
#include "test/emulator/Kernel/ThreadContext.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;
namespace p3d::emulator {

static bool waitsForOthers(const Function &function) {
  for (const BasicBlock &block : function)
    for (const Instruction &instruction : block)
      if (auto *call = dyn_cast<CallInst>(&instruction))
        if (const Function *callee = call->getCalledFunction(); callee && callee->getName().starts_with("p3dWait"))
          return true;
  return false;
}

static Constant *privateArray(Module &module, Constant *data) {
  return new GlobalVariable(module, data->getType(), true, GlobalValue::PrivateLinkage, data);
}

void emitKernelTable(Module &module, const std::vector<ThreadFunction> &threads) {
  LLVMContext &context = module.getContext();
  auto *pointer = PointerType::get(context, 0);
  auto *word = Type::getInt32Ty(context);
  auto *row = StructType::get(context, {pointer, pointer, pointer, word, word, word, word});
  auto number = [&](unsigned value) { return ConstantInt::get(word, value); };
  SmallVector<Constant *> rows;
  for (const ThreadFunction &thread : threads) {
    Constant *name = privateArray(module, ConstantDataArray::getString(context, thread.name));
    Constant *sizes = privateArray(module, ConstantDataArray::get(context, thread.argumentBytes));
    rows.push_back(ConstantStruct::get(row, {name, thread.function, sizes, number(thread.argumentBytes.size()),
                                             number(thread.sharedBytes), number(thread.maxThreads),
                                             number(waitsForOthers(*thread.function))}));
  }
  rows.push_back(ConstantAggregateZero::get(row));
  auto *table = ConstantArray::get(ArrayType::get(row, rows.size()), rows);
  new GlobalVariable(module, table->getType(), true, GlobalValue::ExternalLinkage, table, "p3dKernels");
}

} // namespace p3d::emulator
