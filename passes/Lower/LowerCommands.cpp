// Splits the module: what all programs share, and one module per program.
#include "passes/Lower/CommandLowering.h"
#include "passes/Lower/KernelMapping.h"
#include "passes/Lower/KernelSplit.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/ProgramDescription.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace p3d::lower {
#define GEN_PASS_DEF_LOWERCOMMANDS
#include "passes/Lower/Passes.h.inc"
} // namespace p3d::lower

using namespace mlir;
using namespace p3d;
using namespace p3d::lower;

namespace {
ModuleOp createModule(ModuleOp parent, StringRef name) {
  auto builder = OpBuilder::atBlockEnd(parent.getBody());
  auto module = builder.create<ModuleOp>(parent.getLoc(), name);
  return module;
}

/// void part(arguments, begin, end): calls the kernel with the arguments that lie at these addresses, 8 bytes each.
std::string addPart(LLVM::LLVMFuncOp kernel, LlvmBuilder &llvm) {
  std::string name = (kernel.getSymName() + ".part").str();
  Type i64 = llvm.builder.getI64Type();
  auto made = llvm.startFunction(name, {llvm.pointer, i64, i64});
  SmallVector<Value> arguments;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes().drop_back(2)))
    arguments.push_back(llvm.builder.create<LLVM::LoadOp>(llvm.loc, type, llvm.offset(made.getArgument(0), int64_t(i) * 8)));
  arguments.append({made.getArgument(1), made.getArgument(2)});
  llvm.call(kernel.getSymName(), arguments);
  llvm.finishFunction();
  return name;
}

/// void f(ctx, arguments..., scratch, microbatch)
LogicalResult lowerFunction(exec::FunctionOp function, LlvmBuilder &llvm, OperationNames &names, const CommandEnvironment &kernels) {
  unsigned count = function.getNumArguments();
  SmallVector<Type> types(count + 2, llvm.pointer);
  types.push_back(llvm.builder.getI64Type());
  auto made = llvm.startFunction(functionSymbol(function.getSymName()), types);
  CommandEnvironment environment = kernels;
  environment.context = made.getArgument(0);
  environment.scratch = made.getArgument(count + 1);
  environment.microbatch = made.getArgument(count + 2);
  CommandLowering commands(llvm, names, environment);
  for (auto [i, argument] : llvm::enumerate(function.getArguments()))
    commands.bind(argument, made.getArgument(i + 1));
  if (failed(commands.lower(function.getBody().front())))
    return failure();
  llvm.finishFunction();
  return success();
}

/// void task(ctx, arena, microbatch, slot)
FailureOr<std::string> lowerTask(exec::TaskOp task, exec::ProgramOp program, const SymbolTable &buffers, LlvmBuilder &llvm, OperationNames &names, const CommandEnvironment &kernels) {
  std::string name = (program.getSymName() + "." + exec::nameOf(task)).str();
  Type i64 = llvm.builder.getI64Type();
  auto made = llvm.startFunction(name, {llvm.pointer, llvm.pointer, i64, i64});
  CommandEnvironment environment = kernels;
  environment.context = made.getArgument(0);
  environment.arena = made.getArgument(1);
  environment.microbatch = made.getArgument(2);
  environment.slot = made.getArgument(3);
  environment.buffers = &buffers;
  environment.scratch = llvm.offset(environment.arena, task.getScratchOffset().value_or(0));
  if (failed(CommandLowering(llvm, names, environment).lower(task.getBody().front())))
    return failure();
  llvm.finishFunction();
  return name;
}

void addTaskTable(LlvmBuilder &llvm, ArrayRef<std::string> tasks) {
  llvm.builder.setInsertionPointToEnd(llvm.module.getBody());
  auto type = LLVM::LLVMArrayType::get(llvm.pointer, std::max<size_t>(1, tasks.size()));
  auto table = llvm.builder.create<LLVM::GlobalOp>(llvm.loc, type, /*isConstant=*/true, LLVM::Linkage::External,
                                                   "p3d_tasks", Attribute());
  llvm.builder.createBlock(&table.getInitializerRegion());
  Value value = llvm.builder.create<LLVM::ZeroOp>(llvm.loc, type);
  for (auto [i, name] : llvm::enumerate(tasks)) {
    Value address = llvm.builder.create<LLVM::AddressOfOp>(llvm.loc, llvm.pointer, name);
    value = llvm.builder.create<LLVM::InsertValueOp>(llvm.loc, value, address, i);
  }
  llvm.builder.create<LLVM::ReturnOp>(llvm.loc, value);
}

void addDescription(LlvmBuilder &llvm, StringRef text) {
  llvm.builder.setInsertionPointToEnd(llvm.module.getBody());
  std::string terminated = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(llvm.builder.getI8Type(), terminated.size());
  llvm.builder.create<LLVM::GlobalOp>(llvm.loc, type, /*isConstant=*/true, LLVM::Linkage::External, "p3d_program",
                                      llvm.builder.getStringAttr(terminated));
}

struct LowerCommands : lower::impl::LowerCommandsBase<LowerCommands> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto kernels : module.getOps<gpu::GPUModuleOp>())
      kernelForms.launches = kernels->getAttrOfType<DictionaryAttr>(kLaunchesAttr);
    kernelForms.splits = &splits;
    SmallVector<Operation *> before;
    for (Operation &op : *module.getBody())
      before.push_back(&op);
    if (failed(lowerCommon(module)) || failed(lowerPrograms(module)))
      return signalPassFailure();
    for (Operation *op : before)
      if (isa<exec::FunctionOp, exec::ProgramOp>(op))
        op->erase();
  }

  LogicalResult lowerCommon(ModuleOp module) {
    ModuleOp common = createModule(module, "common");
    SmallVector<LLVM::LLVMFuncOp> kernels(module.getOps<LLVM::LLVMFuncOp>());
    for (LLVM::LLVMFuncOp kernel : kernels)
      kernel->moveBefore(common.getBody(), common.getBody()->end());
    LlvmBuilder llvm(common, module.getLoc());
    for (LLVM::LLVMFuncOp kernel : kernels)
      if (auto split = dyn_cast_or_null<DenseI64ArrayAttr>(kernel->removeAttr(kSplitAttr)))
        splits[kernel.getSymName()] = {addPart(kernel, llvm), split[0], split[1]};
    for (auto function : module.getOps<exec::FunctionOp>())
      if (failed(lowerFunction(function, llvm, names, kernelForms)))
        return failure();
    return success();
  }

  LogicalResult lowerPrograms(ModuleOp module) {
    SmallVector<std::pair<exec::ProgramOp, ModuleOp>> programs;
    for (auto program : module.getOps<exec::ProgramOp>())
      programs.push_back({program, ModuleOp()});
    for (auto &[program, made] : programs) {
      made = createModule(module, program.getSymName());
      LlvmBuilder llvm(made, program.getLoc());
      SmallVector<std::string> tasks;
      SymbolTable buffers(program);
      for (exec::TaskOp task : runnableTasks(program)) {
        FailureOr<std::string> name = lowerTask(task, program, buffers, llvm, names, kernelForms);
        if (failed(name))
          return failure();
        tasks.push_back(*name);
      }
      addTaskTable(llvm, tasks);
    }
    // After all tasks: the names of operations are then complete.
    for (auto &[program, made] : programs) {
      FailureOr<std::string> text = describeProgram(program, names);
      if (failed(text))
        return failure();
      LlvmBuilder llvm(made, program.getLoc());
      addDescription(llvm, *text);
    }
    return success();
  }

  OperationNames names;
  llvm::StringMap<SplitKernel> splits;
  CommandEnvironment kernelForms; ///< what all commands know of kernels
};
} // namespace
