// Makes each kernel one function of a thread: void thread(context, arguments).
#include "test/emulator/Kernel/Compiler/KernelCompiler.h"
#include "test/emulator/Kernel/ThreadContext.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

using namespace llvm;
namespace p3d::emulator {

/// thread(context, arguments): `arguments` are pointers to the values, as cuLaunchKernel takes them.
static ThreadFunction wrapKernel(Module &module, const DeviceFacts::Kernel &kernel) {
  LLVMContext &context = module.getContext();
  Function *body = module.getFunction(kernel.name);
  auto *pointer = PointerType::get(context, 0);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer, pointer}, false);
  auto *thread = Function::Create(type, GlobalValue::InternalLinkage, "thread." + kernel.name, module);
  thread->addFnAttr("target-cpu", body->getFnAttribute("target-cpu").getValueAsString());
  thread->addFnAttr("target-features", body->getFnAttribute("target-features").getValueAsString());
  thread->addFnAttr(Attribute::NoUnwind);
  IRBuilder<> builder(BasicBlock::Create(context, "entry", thread));
  ThreadFunction result{thread, kernel.name, kernel.maxThreads, 0, {}};
  SmallVector<Value *> operands;
  for (Argument &argument : body->args()) {
    Value *slot = builder.CreateConstGEP1_64(pointer, thread->getArg(1), argument.getArgNo());
    Value *value = builder.CreateLoad(pointer, slot);
    Type *stored = argument.hasByValAttr() ? argument.getParamByValType() : argument.getType();
    result.argumentBytes.push_back(module.getDataLayout().getTypeAllocSize(stored));
    operands.push_back(argument.hasByValAttr() ? value : builder.CreateLoad(stored, value));
  }
  CallInst *call = builder.CreateCall(body, operands);
  for (Argument &argument : body->args())
    if (argument.hasByValAttr())
      call->addParamAttr(argument.getArgNo(),
                         body->getAttributes().getParamAttr(argument.getArgNo(), Attribute::ByVal));
  builder.CreateRetVoid();
  return result;
}

static bool isWaitOrCheck(const Function &function) {
  return function.getName() == "p3dWaitBarrier" || function.getName() == "p3dWaitWarp" ||
         function.getName() == "p3dCheckAccess";
}

/// Everything but waits, checks and what the device functions keep apart goes into the thread functions.
static void inlineEverything(Module &module, const std::vector<ThreadFunction> &threads, const DeviceFacts &facts) {
  for (Function &function : module) {
    if (function.isDeclaration() || isWaitOrCheck(function) || function.getName().starts_with("__trunc"))
      continue;
    function.setLinkage(GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    if (function.getName().starts_with("thread.") || function.getName().ends_with("Rounded"))
      continue;
    if (function.getName().starts_with("narrow") && function.hasFnAttribute(Attribute::NoInline))
      continue;
    function.removeFnAttr(Attribute::NoInline);
    function.removeFnAttr(Attribute::OptimizeNone);
    function.addFnAttr(Attribute::AlwaysInline);
  }
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  ModulePassManager passes;
  passes.addPass(AlwaysInlinerPass());
  passes.run(module, modules);
}

/// Device functions ask for the thread's context by a call of p3dContext; in a thread function it is the first argument.
static void placeContext(Module &module, const DeviceFacts &facts) {
  Function *accessor = module.getFunction("p3dContext");
  if (!accessor)
    return;
  for (User *user : make_early_inc_range(accessor->users())) {
    auto *call = cast<CallInst>(user);
    if (!call->getFunction()->getName().starts_with("thread."))
      continue; // its copies are in the thread functions
    call->replaceAllUsesWith(call->getFunction()->getArg(0));
    call->eraseFromParent();
  }
}

/// Shared variables become offsets in the block's memory; dynamic ones (of no size) begin where the static ones end.
static void placeSharedVariables(Module &module, std::vector<ThreadFunction> &threads, const DeviceFacts &facts) {
  SmallVector<GlobalVariable *> variables;
  SmallVector<Constant *> constants;
  for (const std::string &name : facts.sharedVariables)
    if (GlobalVariable *variable = module.getNamedGlobal(name)) {
      variables.push_back(variable);
      constants.push_back(variable);
    }
  convertUsersOfConstantsToInstructions(constants);
  constexpr unsigned alignment = 128;
  for (ThreadFunction &thread : threads) {
    auto place = [&](GlobalVariable *variable) {
      SmallVector<Use *> uses;
      for (Use &use : variable->uses())
        if (auto *user = dyn_cast<Instruction>(use.getUser()); user && user->getFunction() == thread.function)
          uses.push_back(&use);
      if (uses.empty())
        return;
      uint64_t bytes = module.getDataLayout().getTypeAllocSize(variable->getValueType());
      IRBuilder<> builder(&*thread.function->getEntryBlock().getFirstInsertionPt());
      Value *field =
          builder.CreateConstGEP1_64(builder.getInt8Ty(), thread.function->getArg(0), offsetof(P3dThread, shared));
      Value *base = builder.CreateLoad(builder.getPtrTy(), field);
      Value *address = builder.CreateConstGEP1_64(builder.getInt8Ty(), base, thread.sharedBytes);
      for (Use *use : uses)
        use->set(address);
      thread.sharedBytes += alignTo(bytes, alignment);
    };
    auto isDynamic = [&](GlobalVariable *variable) {
      return module.getDataLayout().getTypeAllocSize(variable->getValueType()) == 0;
    };
    for (GlobalVariable *variable : variables)
      if (!isDynamic(variable))
        place(variable);
    for (GlobalVariable *variable : variables)
      if (isDynamic(variable))
        place(variable);
  }
}

/// What a thread reads of its context and its argument list never changes while it runs.
static void markInvariant(const ThreadFunction &thread) {
  for (BasicBlock &block : *thread.function)
    for (Instruction &instruction : block)
      if (auto *load = dyn_cast<LoadInst>(&instruction))
        if (isa<Argument>(getUnderlyingObject(load->getPointerOperand())))
          load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
}

std::vector<ThreadFunction> makeThreadFunctions(Module &module, const DeviceFacts &facts) {
  std::vector<ThreadFunction> threads;
  for (const DeviceFacts::Kernel &kernel : facts.kernels)
    threads.push_back(wrapKernel(module, kernel));
  inlineEverything(module, threads, facts);
  placeContext(module, facts);
  placeSharedVariables(module, threads, facts);
  for (ThreadFunction &thread : threads) {
    markInvariant(thread);
    for (BasicBlock &block : *thread.function)
      for (Instruction &instruction : block)
        if (auto *call = dyn_cast<CallInst>(&instruction))
          if (Function *callee = call->getCalledFunction(); callee && callee->hasFnAttribute(Attribute::AlwaysInline))
            refuse("the kernel " + thread.name + " calls the recursive function " + callee->getName());
  }
  return threads;
}

} // namespace p3d::emulator
