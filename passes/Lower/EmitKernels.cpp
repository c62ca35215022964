#include "passes/Lower/EmitKernels.h"
#include "passes/Lower/KernelMapping.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace p3d::lower;
namespace sys = llvm::sys;

namespace {
constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";
/// PTX of this version is read by every driver since CUDA 11.8, and has all that generated kernels need.
constexpr llvm::StringLiteral kPtxVersion = "+ptx78";

const llvm::Target *deviceTarget(std::string &error) {
  static bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
  return llvm::TargetRegistry::lookupTarget(kTriple.str(), error);
}

std::string archName(int64_t architecture) { return "sm_" + std::to_string(architecture); }

/// Kernels on their way through LLVM and the toolkit.
class KernelEmitter {
public:
  KernelEmitter(ModuleOp lowered, const KernelOptions &options) : lowered(lowered), options(options), loc(lowered.getLoc()) {}

  FailureOr<std::vector<KernelImage>> run() {
    if (failed(translate()))
      return failure();
    std::vector<KernelImage> images;
    images.push_back({ImageKind::Bitcode, 0, bitcode()});
    FailureOr<std::string> ptx = generatePtx();
    if (failed(ptx) || failed(assemble(*ptx, images)))
      return failure();
    return images;
  }

  FailureOr<std::string> ptx() {
    if (failed(translate()))
      return failure();
    return generatePtx();
  }

private:
  LogicalResult translate() {
    DialectRegistry registry;
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
    lowered.getContext()->appendDialectRegistry(registry);
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(loc);
    for (auto module : lowered.getOps<gpu::GPUModuleOp>())
      for (Operation &op : *module.getBody())
        if (!isa<gpu::ModuleEndOp>(op))
          kernels->push_back(op.clone());
    translated = translateModuleToLLVMIR(*kernels, context, "kernels");
    if (!translated)
      return failure();
    for (llvm::Function &function : *translated)
      if (!function.isDeclaration())
        function.setName(deviceName(function.getName()));
    return success();
  }

  /// libdevice's functions stay calls: the emulator has them.
  std::string bitcode() {
    translated->setTargetTriple(kTriple);
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    llvm::WriteBitcodeToFile(*translated, stream);
    return bytes;
  }

  int64_t lowest() const { return *llvm::min_element(options.architectures); }

  FailureOr<std::string> generatePtx() {
    std::string error;
    const llvm::Target *target = deviceTarget(error);
    if (!target)
      return emitError(loc) << "no code generator for CUDA devices: " << error; // unreachable from input: it is linked in
    std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(kTriple, archName(lowest()), kPtxVersion, llvm::TargetOptions(), std::nullopt));
    translated->setDataLayout(machine->createDataLayout());
    if (failed(linkDeviceLibrary()))
      return failure();
    optimize(*translated, *machine, 3);
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager generate;
    if (machine->addPassesToEmitFile(generate, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
      return emitError(loc) << "the code generator cannot write PTX"; // unreachable from input: it can
    generate.run(*translated);
    return text.str().str();
  }

  LogicalResult linkDeviceLibrary() {
    bool isNeeded = llvm::any_of(*translated, [](llvm::Function &function) { return function.isDeclaration() && function.getName().starts_with("__nv_"); });
    if (!isNeeded)
      return success();
    std::string places[] = {options.libraryDir + "/libdevice.10.bc", toolkitRoot() + "/nvvm/libdevice/libdevice.10.bc"};
    auto *found = llvm::find_if(places, [](const std::string &path) { return sys::fs::exists(path); });
    if (found == std::end(places))
      return emitError(loc) << "libdevice.10.bc is neither in " << options.libraryDir << " nor in a CUDA toolkit; set CUDA_HOME, or install libnvvm of the toolkit";
    llvm::SMDiagnostic diagnostic;
    std::unique_ptr<llvm::Module> library = llvm::parseIRFile(*found, diagnostic, context);
    if (!library)
      return emitError(loc) << *found << ": " << diagnostic.getMessage();
    library->setTargetTriple(kTriple);
    library->setDataLayout(translated->getDataLayout());
    bool isBad = llvm::Linker::linkModules(*translated, std::move(library), llvm::Linker::LinkOnlyNeeded, [](llvm::Module &module, const llvm::StringSet<> &names) {
      llvm::internalizeModule(module, [&](const llvm::GlobalValue &value) { return !value.hasName() || !names.contains(value.getName()); });
    });
    if (isBad)
      return emitError(loc) << *found << ": cannot be linked with the kernels"; // unreachable from input: names clash with nothing
    return success();
  }

  static std::string toolkitRoot() {
    for (const char *variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
      if (auto value = sys::Process::GetEnv(variable))
        return *value;
    return "/usr/local/cuda";
  }

  static std::string findTool(StringRef name) {
    std::string bin = toolkitRoot() + "/bin";
    if (auto found = sys::findProgramByName(name, {bin}))
      return *found;
    auto onPath = sys::findProgramByName(name);
    return onPath ? *onPath : std::string();
  }

  /// A fatbin of machine code and PTX, or the PTX alone where the toolkit is missing.
  LogicalResult assemble(const std::string &ptx, std::vector<KernelImage> &images) {
    std::string ptxas = findTool("ptxas"), fatbinary = findTool("fatbinary");
    if (ptxas.empty() || fatbinary.empty()) {
      emitRemark(loc) << "neither CUDA_HOME nor PATH leads to ptxas and fatbinary; the programs hold PTX alone, which the driver compiles when they start";
      images.push_back({ImageKind::Ptx, lowest(), ptx + '\0'});
      return success();
    }
    if (std::error_code error = sys::fs::createUniqueDirectory("p3dc-kernels", directory))
      return emitError(loc) << "cannot make a temporary directory: " << error.message();
    auto removeDirectory = llvm::make_scope_exit([&] { sys::fs::remove_directories(directory); });
    std::string ptxFile = place("kernels.ptx"), fatbin = place("kernels.fatbin");
    if (failed(writeFile(loc, ptxFile, ptx)))
      return failure();
    std::vector<std::string> pack{fatbinary, "-64", "--create=" + fatbin};
    for (int64_t architecture : options.architectures) {
      std::string cubin = place(archName(architecture) + ".cubin");
      if (failed(runTool({ptxas, "-O3", "-arch=" + archName(architecture), "-o", cubin, ptxFile})))
        return failure();
      pack.push_back("--image3=kind=elf,sm=" + std::to_string(architecture) + ",file=" + cubin);
    }
    pack.push_back("--image3=kind=ptx,sm=" + std::to_string(lowest()) + ",file=" + ptxFile);
    if (failed(runTool(pack)))
      return failure();
    auto bytes = llvm::MemoryBuffer::getFile(fatbin, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!bytes)
      return emitError(loc) << "cannot read " << fatbin << ": " << bytes.getError().message();
    images.push_back({ImageKind::Fatbin, 0, (*bytes)->getBuffer().str()});
    return success();
  }

  std::string place(const llvm::Twine &name) { return (directory + "/" + name).str(); }

  LogicalResult runTool(ArrayRef<std::string> command) {
    std::string messages = place("messages"), error;
    SmallVector<StringRef> arguments(command.begin(), command.end());
    std::optional<StringRef> redirects[] = {StringRef(""), StringRef(messages), StringRef(messages)};
    if (sys::ExecuteAndWait(command[0], arguments, std::nullopt, redirects, 0, 0, &error) == 0)
      return success();
    auto text = llvm::MemoryBuffer::getFile(messages);
    return emitError(loc) << command[0] << " failed on generated kernels: " << error << (text ? (*text)->getBuffer() : StringRef());
  }

  ModuleOp lowered;
  const KernelOptions &options;
  Location loc;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated;
  llvm::SmallString<128> directory;
};

llvm::GlobalVariable *addBytes(llvm::Module &module, const KernelImage &image) {
  auto *data = llvm::ConstantDataArray::getString(module.getContext(), image.bytes, /*AddNull=*/false);
  auto *global = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true, llvm::GlobalValue::InternalLinkage, data, "p3d_image");
  global->setAlignment(llvm::Align(16));
  // The section in which NVIDIA's tools look for device code.
  if (image.kind == ImageKind::Fatbin)
    global->setSection(".nv_fatbin");
  return global;
}
} // namespace

LogicalResult p3d::lower::checkArchitectures(Location loc, ArrayRef<int64_t> architectures) {
  std::string error;
  const llvm::Target *target = deviceTarget(error);
  if (!target)
    return emitError(loc) << "no code generator for CUDA devices: " << error; // unreachable from input: it is linked in
  constexpr int64_t kOldest = 80;
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(kTriple, "", ""));
  for (int64_t architecture : architectures)
    if (architecture < kOldest || !info->isCPUStringValid(archName(architecture)))
      return emitError(loc) << "gpu architecture " << archName(architecture) << " is not one that kernels are generated for, which are sm_80 to sm_90; a newer device compiles the "
                            << "PTX that is always there";
  return success();
}

FailureOr<std::vector<KernelImage>> p3d::lower::emitKernels(ModuleOp lowered, const KernelOptions &options) { return KernelEmitter(lowered, options).run(); }

FailureOr<std::string> p3d::lower::emitPtx(ModuleOp lowered, const KernelOptions &options) { return KernelEmitter(lowered, options).ptx(); }

FailureOr<ObjectCode> p3d::lower::embedImages(Location loc, ArrayRef<KernelImage> images, const EmitOptions &options) {
  llvm::LLVMContext context;
  llvm::Module module("images", context);
  auto *i32 = llvm::Type::getInt32Ty(context), *i64 = llvm::Type::getInt64Ty(context);
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *type = llvm::StructType::get(context, {i32, i32, pointer, i64});
  SmallVector<llvm::Constant *> rows;
  for (const KernelImage &image : images)
    rows.push_back(llvm::ConstantStruct::get(type, {llvm::ConstantInt::get(i32, int(image.kind)), llvm::ConstantInt::get(i32, image.architecture), addBytes(module, image),
                                                    llvm::ConstantInt::get(i64, image.bytes.size())}));
  rows.push_back(llvm::ConstantAggregateZero::get(type));
  auto *tableType = llvm::ArrayType::get(type, rows.size());
  new llvm::GlobalVariable(module, tableType, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, llvm::ConstantArray::get(tableType, rows), "p3d_images");
  return emitModule(loc, module, options);
}
