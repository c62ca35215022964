// Checks of memory accesses: a call before each load, store, atomic operation and block copy whose address is neither
// the thread's own stack, nor its arguments, nor a constant.
#include "test/emulator/Kernel/Compiler/KernelCompiler.h"
#include "test/emulator/Kernel/ThreadContext.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
namespace p3d::emulator {

namespace {
struct Access {
  Instruction *before;
  Value *address, *bytes;
  unsigned kind;
  Align alignment;
};
} // namespace

/// Whether all objects that `address` may point into, by whatever way, satisfy `is`.
static bool allObjects(const Value *address, function_ref<bool(const Value *)> is) {
  SmallVector<const Value *> objects;
  getUnderlyingObjects(address, objects, nullptr, /*MaxLookup=*/0);
  return all_of(objects, is);
}

static bool isOwnObject(const Value *object) {
  if (auto *variable = dyn_cast<GlobalVariable>(object))
    return variable->isConstant();
  if (auto *load = dyn_cast<LoadInst>(object)) // the storage of a kernel's argument
    return allObjects(load->getPointerOperand(),
                      [&](const Value *list) { return list == load->getFunction()->getArg(1); });
  return isa<AllocaInst>(object) || isa<Argument>(object);
}

static bool isOwnMemory(const Value *address) { return allObjects(address, isOwnObject); }

static void collect(Instruction &instruction, SmallVectorImpl<Access> &accesses) {
  const DataLayout &layout = instruction.getModule()->getDataLayout();
  auto *size = Type::getInt64Ty(instruction.getContext());
  auto add = [&](Value *address, Type *type, unsigned kind, Align alignment) {
    if (!isOwnMemory(address))
      accesses.push_back(
          {&instruction, address, ConstantInt::get(size, layout.getTypeStoreSize(type)), kind, alignment});
  };
  auto addBlock = [&](Value *address, Value *bytes, unsigned kind) {
    if (!isOwnMemory(address))
      accesses.push_back({&instruction, address, bytes, kind, Align(1)});
  };
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    add(load->getPointerOperand(), load->getType(), P3dRead, load->getAlign());
  else if (auto *store = dyn_cast<StoreInst>(&instruction))
    add(store->getPointerOperand(), store->getValueOperand()->getType(), P3dWrite, store->getAlign());
  else if (auto *atomic = dyn_cast<AtomicRMWInst>(&instruction))
    add(atomic->getPointerOperand(), atomic->getType(), P3dAtomic, atomic->getAlign());
  else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    add(exchange->getPointerOperand(), exchange->getNewValOperand()->getType(), P3dAtomic, exchange->getAlign());
  else if (auto *block = dyn_cast<MemIntrinsic>(&instruction)) {
    addBlock(block->getRawDest(), block->getLength(), P3dWrite);
    if (auto *transfer = dyn_cast<MemTransferInst>(block))
      addBlock(transfer->getRawSource(), transfer->getLength(), P3dRead);
  }
}

void checkAccesses(Module &module, const std::vector<ThreadFunction> &threads) {
  Function *check = module.getFunction("p3dCheckAccess");
  for (const ThreadFunction &thread : threads) {
    SmallVector<Access> accesses;
    for (BasicBlock &block : *thread.function)
      for (Instruction &instruction : block)
        collect(instruction, accesses);
    for (const Access &access : accesses) {
      IRBuilder<> builder(access.before);
      Value *bytes = builder.CreateZExtOrTrunc(access.bytes, builder.getInt64Ty());
      builder.CreateCall(check, {thread.function->getArg(0), access.address, bytes, builder.getInt32(access.kind),
                                 builder.getInt32(access.alignment.value())});
    }
  }
}

} // namespace p3d::emulator
