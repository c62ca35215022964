// Gives the intrinsics and the inline assembly of a device module the names of the emulator's device functions.
#include "test/emulator/Kernel/Compiler/KernelCompiler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;
namespace p3d::emulator {

static std::string withUnderscores(StringRef name) {
  std::string text = name.str();
  for (char &c : text)
    if (!isAlnum(c) && c != '_')
      c = '_';
  return text;
}

/// Calls `name` of `device` in place of `call`, with the operands given; takes a packed {i32, i1} result apart.
static void callInstead(CallInst *call, const std::string &name, ArrayRef<Value *> operands, const Module &device,
                        const Twine &what) {
  Function *known = device.getFunction(name);
  if (!known)
    refuse("kernel code uses " + what + ", which the emulator does not have (it would be " + name + ")");
  IRBuilder<> builder(call);
  Type *result = call->getType();
  bool isPacked = result->isStructTy() && known->getReturnType()->isIntegerTy(64);
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  auto *type = FunctionType::get(isPacked ? builder.getInt64Ty() : result, types, false);
  Value *value = builder.CreateCall(call->getModule()->getOrInsertFunction(name, type), operands);
  if (isPacked) {
    Value *low = builder.CreateTrunc(value, result->getStructElementType(0));
    Value *high = builder.CreateTrunc(builder.CreateLShr(value, 32), builder.getInt1Ty());
    if (result->getStructElementType(0)->isFloatTy())
      low = builder.CreateBitCast(builder.CreateTrunc(value, builder.getInt32Ty()), builder.getFloatTy());
    value = builder.CreateInsertValue(PoisonValue::get(result), low, 0);
    value = builder.CreateInsertValue(value, high, 1);
  }
  call->replaceAllUsesWith(value);
  call->eraseFromParent();
}

/// `llvm.nvvm.ldg` and `ldu` are loads that promise that the memory does not change.
static bool replaceLoad(CallInst *call, StringRef name) {
  if (!name.starts_with("llvm.nvvm.ldg.") && !name.starts_with("llvm.nvvm.ldu."))
    return false;
  Align alignment(1);
  if (auto *constant = dyn_cast<ConstantInt>(call->getArgOperand(1)))
    alignment = Align(std::max<uint64_t>(1, constant->getZExtValue()));
  auto *load = new LoadInst(call->getType(), call->getArgOperand(0), "", false, alignment, call->getIterator());
  call->replaceAllUsesWith(load);
  call->eraseFromParent();
  return true;
}

/// Which features libdevice is compiled for: exact division and roots, subnormals kept.
static bool replaceReflect(CallInst *call, StringRef name) {
  if (name != "__nvvm_reflect" && name != "llvm.nvvm.reflect")
    return false;
  auto *variable = dyn_cast<GlobalVariable>(call->getArgOperand(0)->stripPointerCasts());
  StringRef key;
  if (variable && variable->hasInitializer())
    if (auto *data = dyn_cast<ConstantDataArray>(variable->getInitializer()))
      key = data->getAsString().rtrim('\0');
  unsigned value = key == "__CUDA_ARCH" ? 800 : key.starts_with("__CUDA_PREC") ? 1 : 0;
  call->replaceAllUsesWith(ConstantInt::get(call->getType(), value));
  call->eraseFromParent();
  return true;
}

/// Inline assembly of more than one instruction, without white space, and the function that stands for it.
static const struct {
  const char *text, *name;
} sequences[] = {
    {"mov.b32$0,{0,$1};", "ptx_cvt_f32_bf16"},
    {"mov.b32$0,{$1,$2};", "ptx_pack"},
    {".reg.b32c;mov.b32c,0x3f803f80U;fma.rn.bf16x2$0,$1,c,$2;", "ptx_add_bf16x2"},
    {".reg.b16c;mov.b16c,0x3f80U;fma.rn.bf16$0,$1,c,$2;", "ptx_add_bf16"},
    {".reg.b32c;mov.b32c,0x80008000U;fma.rn.bf16x2$0,$1,$2,c;", "ptx_mul_bf16x2"},
    {".reg.b16c;mov.b16c,0x8000U;fma.rn.bf16$0,$1,$2,c;", "ptx_mul_bf16"},
    {".reg.b32c;mov.b32c,0xbf80bf80U;fma.rn.bf16x2$0,$2,c,$1;", "ptx_sub_bf16x2"},
    {".reg.b16c;mov.b16c,0xbf80U;fma.rn.bf16$0,$2,c,$1;", "ptx_sub_bf16"},
};

/// `{ op $0, $2, $1; }`: the function of that instruction and the order of its operands. `$0` as a source is the
/// operand that is tied to the result.
static void replaceAssembly(CallInst *call, const InlineAsm *assembly, const Module &device) {
  StringRef text = StringRef(assembly->getAsmString()).trim(" \t\r\n");
  if (text.starts_with("{") && text.ends_with("}"))
    text = text.drop_front().drop_back().trim(" \t\r\n");
  std::string packed;
  for (char c : text)
    if (!isSpace(c))
      packed += c;
  SmallVector<Value *> operands(call->args());
  if (packed.empty()) // a barrier for the compiler only
    return;
  for (auto [sequence, name] : sequences)
    if (packed == sequence)
      return callInstead(call, name, operands, device, "the assembly \"" + text + "\"");
  auto [op, rest] = text.rtrim(';').split(' ');
  SmallVector<StringRef> names;
  rest.split(names, ',', -1, false);
  SmallVector<Value *> ordered;
  bool hasResult = !call->getType()->isVoidTy();
  for (StringRef name : ArrayRef(names).drop_front(hasResult && !names.empty() ? 1 : 0)) {
    unsigned index;
    if (!name.trim().consume_front("$") || name.trim().drop_front().getAsInteger(10, index))
      refuse("kernel code uses the assembly \"" + text + "\", which the emulator does not have");
    index = hasResult && index > 0 ? index - 1 : index;
    if (index >= operands.size())
      refuse("kernel code uses the assembly \"" + text + "\", which the emulator does not have");
    ordered.push_back(operands[index]);
  }
  callInstead(call, "ptx_" + withUnderscores(op), ordered, device, "the assembly \"" + text + "\"");
}

static void replaceCall(CallInst *call, const Module &device) {
  if (auto *assembly = dyn_cast<InlineAsm>(call->getCalledOperand()))
    return replaceAssembly(call, assembly, device);
  Function *callee = call->getCalledFunction();
  if (!callee)
    refuse("kernel code calls a function through a pointer");
  StringRef name = callee->getName();
  if (replaceReflect(call, name) || replaceLoad(call, name))
    return;
  if (name == "llvm.trap")
    return callInstead(call, "ptx_trap", {}, device, name);
  if (name.starts_with("llvm.nvvm.")) {
    SmallVector<Value *> operands(call->args());
    return callInstead(call, withUnderscores(name.drop_front(strlen("llvm."))), operands, device, name);
  }
  if (callee->isDeclaration() && !callee->isIntrinsic() && !device.getFunction(name))
    refuse("kernel code calls " + name + ", which the emulator does not have");
}

void nameDeviceFunctions(Module &module, const Module &device) {
  SmallVector<CallInst *> calls;
  for (Function &function : module)
    for (BasicBlock &block : function)
      for (Instruction &instruction : block)
        if (auto *call = dyn_cast<CallInst>(&instruction))
          calls.push_back(call);
  for (CallInst *call : calls)
    replaceCall(call, device);
}

} // namespace p3d::emulator
