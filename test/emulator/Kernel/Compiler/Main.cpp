// p3d-emulator-compile IN.bc OUT.so: compiles a CUDA module in LLVM bitcode for this machine (see KernelCompiler.h).
#include "lld/Common/Driver.h"
#include "test/emulator/Kernel/Compiler/KernelCompiler.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <cstdlib>

LLD_HAS_DRIVER(elf)

using namespace llvm;
namespace p3d::emulator {

void refuse(const Twine &text) {
  errs() << "emulator: " << text << "\n";
  errs().flush();
  std::_Exit(1);
}

static std::unique_ptr<Module> readModule(const Twine &path, LLVMContext &context) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    refuse("cannot read " + path);
  auto module = parseBitcodeFile(**buffer, context);
  if (!module)
    refuse(path + " is not LLVM bitcode: " + toString(module.takeError()));
  return std::move(*module);
}

static std::unique_ptr<TargetMachine> hostMachine() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  std::string triple = sys::getProcessTriple(), error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    refuse(error);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, sys::getHostCPUName(), "", TargetOptions(), Reloc::PIC_, std::nullopt, CodeGenOptLevel::Default));
}

/// No vectors: each thread's accesses are to be seen one by one.
static void optimize(Module &module, TargetMachine &machine, OptimizationLevel level) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PipelineTuningOptions options;
  options.LoopVectorization = options.SLPVectorization = options.LoopInterleaving = false;
  PassBuilder builder(&machine, options);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

static void emitSharedObject(Module &module, TargetMachine &machine, StringRef path) {
  std::string object = (path + ".o").str();
  std::error_code error;
  {
    raw_fd_ostream stream(object, error);
    if (error)
      refuse("cannot write " + object + ": " + error.message());
    legacy::PassManager passes;
    machine.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile);
    passes.run(module);
  }
  std::vector<const char *> arguments = {"ld.lld",       "-shared", "--hash-style=gnu", "-o", path.data(),
                                         object.c_str(), P3D_LIBM};
  lld::Result result = lld::lldMain(arguments, outs(), errs(), {{lld::Gnu, &lld::elf::link}});
  sys::fs::remove(object);
  if (result.retCode)
    refuse("the kernels cannot be linked");
}

static int compile(const char *from, const std::string &to, const char *program) {
  LLVMContext context;
  auto machine = hostMachine();
  SmallString<256> devicePath(sys::fs::getMainExecutable(program, reinterpret_cast<void *>(&refuse)));
  sys::path::remove_filename(devicePath);
  sys::path::append(devicePath, "p3d-emulator-device.bc");
  std::unique_ptr<Module> device = readModule(devicePath, context), module = readModule(from, context);
  StripDebugInfo(*module);
  DeviceFacts facts = readDeviceFacts(*module);
  nameDeviceFunctions(*module, *device);
  module =
      hostForm(std::move(module), std::move(device), machine->createDataLayout(), machine->getTargetTriple().str());
  std::vector<ThreadFunction> threads = makeThreadFunctions(*module, facts);
  SmallVector<GlobalValue *> kept;
  for (const char *name : {"__truncsfbf2", "__truncdfbf2"})
    kept.push_back(module->getFunction(name));
  for (GlobalValue *value : kept)
    value->setVisibility(GlobalValue::HiddenVisibility);
  for (const ThreadFunction &thread : threads)
    kept.push_back(thread.function);
  kept.push_back(module->getFunction("p3dCheckAccess"));
  appendToUsed(*module, kept);
  for (const char *name : {"p3dCheckAccess", "p3dWaitBarrier", "p3dWaitWarp"})
    if (Function *function = module->getFunction(name))
      function->setLinkage(GlobalValue::InternalLinkage);
  optimize(*module, *machine, OptimizationLevel::O2);
  checkAccesses(*module, threads);
  emitKernelTable(*module, threads);
  if (getenv("P3D_EMULATOR_PRINT"))
    errs() << *module;
  if (verifyModule(*module, &errs()))
    refuse("the compiled module is not valid");
  emitSharedObject(*module, *machine, to);
  return 0;
}

} // namespace p3d::emulator

int main(int argc, char **argv) {
  if (argc != 3) {
    errs() << "usage: p3d-emulator-compile IN.bc OUT.so\n";
    return 1;
  }
  return p3d::emulator::compile(argv[1], argv[2], argv[0]);
}
