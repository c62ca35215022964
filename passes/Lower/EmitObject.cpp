#include "passes/Lower/EmitObject.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;
using namespace p3d::lower;

namespace {
const llvm::Target *hostTarget(std::string &error) {
  static bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)once;
  return llvm::TargetRegistry::lookupTarget(llvm::sys::getProcessTriple(), error);
}

std::string hostFeatures() {
  llvm::SubtargetFeatures features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  return features.getString();
}

std::unique_ptr<llvm::TargetMachine> createMachine(const EmitOptions &options, std::string &error) {
  const llvm::Target *target = hostTarget(error);
  if (!target)
    return nullptr;
  bool isNative = options.cpu == "native";
  llvm::TargetOptions targetOptions;
  targetOptions.FunctionSections = true;
  targetOptions.DataSections = true;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      llvm::sys::getProcessTriple(), isNative ? llvm::sys::getHostCPUName() : llvm::StringRef(options.cpu),
      isNative ? hostFeatures() : std::string(), targetOptions, llvm::Reloc::PIC_, std::nullopt,
      options.optimization ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
}
} // namespace

void p3d::lower::optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned level) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  if (level == 0)
    builder.buildO0DefaultPipeline(levels[0]).run(module, modules);
  else
    builder.buildPerModuleDefaultPipeline(levels[std::min(level, 3u)]).run(module, modules);
}

LogicalResult p3d::lower::checkCpu(Location loc, StringRef cpu) {
  std::string error;
  const llvm::Target *target = hostTarget(error);
  if (!target)
    return emitError(loc) << "no code generator for this machine: " << error; // unreachable from input: it is linked in
  if (cpu == "native")
    return success();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple.str(), "", ""));
  if (info->isCPUStringValid(cpu)) {
    info.reset(target->createMCSubtargetInfo(triple.str(), cpu, ""));
    if (triple.getArch() == llvm::Triple::x86_64 && !info->checkFeatures("+64bit"))
      return emitError(loc) << "cpu '" << cpu << "' has no 64-bit code; expected native or a name like x86-64-v3";
    return success();
  }
  return emitError(loc) << "unknown cpu '" << cpu << "'; expected native or a name that clang -mcpu=help lists";
}

FailureOr<ObjectCode> p3d::lower::emitModule(Location loc, llvm::Module &module, const EmitOptions &options) {
  std::string error;
  auto machine = createMachine(options, error);
  if (!machine) {
    emitError(loc) << "no code generator for this machine: " << error; // unreachable from input: it is linked in
    return failure();
  }
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  optimize(module, *machine, options.optimization);
  ObjectCode code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager generate;
  if (machine->addPassesToEmitFile(generate, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    emitError(loc) << "this machine's code generator cannot write objects"; // unreachable from input: each target of LLVM can
    return failure();
  }
  generate.run(module);
  return code;
}

FailureOr<ObjectCode> p3d::lower::emitObject(ModuleOp module, const EmitOptions &options) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context, module.getName().value_or("module"));
  if (!translated)
    return failure();
  return emitModule(module.getLoc(), *translated, options);
}
