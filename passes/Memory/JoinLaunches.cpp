// Kernels that do not depend on each other as one launch; see Passes.td.
#include "passes/Memory/KernelLibrary.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/Views.h"
#include "dialects/Exec/ExecOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

namespace p3d::memory {
#define GEN_PASS_DEF_JOINLAUNCHES
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// Parameters of one launch: a driver takes 4 KB of them.
constexpr size_t kMostParameters = 128;

bool touch(ValueRange some, ValueRange others) {
  return llvm::any_of(some, [&](Value a) { return llvm::any_of(others, [&](Value b) { return rootOf(a) == rootOf(b); }); });
}

/// Whether the order of two commands matters. Distinct arguments and buffers are distinct memory where one is written.
bool conflict(exec::Command a, exec::Command b) {
  return touch(a.getWrites(), b.getWrites()) || touch(a.getWrites(), b.getReads()) || touch(a.getReads(), b.getWrites());
}

/// The launches of one function or task.
class Joiner {
public:
  Joiner(const SymbolTable &symbols, KernelLibrary &kernels) : symbols(symbols), kernels(kernels) {}

  void run(Block &commands) {
    for (Operation &op : llvm::make_early_inc_range(commands))
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        if (exec::LaunchOp partner = partnerOf(launch))
          join(partner, launch);
  }

private:
  /// The nearest launch before, up to which `launch` may move. It does not pass communication, which would begin later, nor calls.
  exec::LaunchOp partnerOf(exec::LaunchOp launch) {
    for (Operation *op = launch->getPrevNode(); op; op = op->getPrevNode()) {
      auto command = dyn_cast<exec::Command>(op);
      if (!command)
        continue;
      if (!isa<exec::LaunchOp, exec::EinsumOp, exec::InvokeOp>(op) || conflict(command, cast<exec::Command>(launch.getOperation())))
        return {};
      if (auto earlier = dyn_cast<exec::LaunchOp>(op); earlier && canJoin(earlier, launch))
        return earlier;
    }
    return {};
  }

  bool canJoin(exec::LaunchOp a, exec::LaunchOp b) {
    return a.getAdds() == b.getAdds() && a->getNumOperands() + b->getNumOperands() <= kMostParameters;
  }

  void join(exec::LaunchOp first, exec::LaunchOp second) {
    for (Value operand : second->getOperands())
      hoist(operand.getDefiningOp(), first);
    auto concat = [](ValueRange a, ValueRange b) {
      SmallVector<Value> all(a);
      all.append(b.begin(), b.end());
      return all;
    };
    func::FuncOp kernel = joinKernels(first, second);
    OpBuilder builder(first);
    builder.create<exec::LaunchOp>(builder.getFusedLoc({first.getLoc(), second.getLoc()}), kernel.getSymName(), concat(first.getIns(), second.getIns()),
                                   concat(first.getStarts(), second.getStarts()), concat(first.getOuts(), second.getOuts()), first.getAdds());
    first->erase();
    second->erase();
  }

  /// Moves the definition of a place, which does nothing, before `user`.
  void hoist(Operation *definition, Operation *user) {
    if (!definition || definition->getBlock() != user->getBlock() || definition->isBeforeInBlock(user))
      return;
    for (Value operand : definition->getOperands())
      hoist(operand.getDefiningOp(), user);
    definition->moveBefore(user);
  }

  /// One body behind the other; parameters in the order of a launch: ins, starts, outs.
  func::FuncOp joinKernels(exec::LaunchOp first, exec::LaunchOp second) {
    std::pair<exec::LaunchOp, func::FuncOp> sources[] = {{first, kernelOf(first)}, {second, kernelOf(second)}};
    SmallVector<Type> types;
    for (int part = 0; part < 3; ++part)
      for (auto [launch, kernel] : sources)
        llvm::append_range(types, llvm::map_range(partOf(launch, kernel, part), [](BlockArgument argument) { return argument.getType(); }));
    OpBuilder builder(kernelOf(first).getContext());
    auto joined = func::FuncOp::create(first.getLoc(), "joined", builder.getFunctionType(types, {}));
    joined.setPrivate();
    Block *body = joined.addEntryBlock();
    IRMapping mappings[2]; // a kernel may be joined with itself
    unsigned index = 0;
    for (int part = 0; part < 3; ++part)
      for (auto [source, mapping] : llvm::zip(sources, mappings))
        for (BlockArgument parameter : partOf(source.first, source.second, part)) {
          mapping.map(parameter, body->getArgument(index));
          joined.setArgAttrs(index++, function_interface_impl::getArgAttrs(source.second, parameter.getArgNumber()));
        }
    builder.setInsertionPointToEnd(body);
    for (auto [source, mapping] : llvm::zip(sources, mappings))
      for (Operation &op : source.second.getBody().front().without_terminator())
        builder.clone(op, mapping);
    builder.create<func::ReturnOp>(first.getLoc());
    func::FuncOp made = kernels.add(joined, nameOf(first) + "_" + nameOf(second));
    known[made.getSymName()] = made;
    return made;
  }

  static Block::BlockArgListType partOf(exec::LaunchOp launch, func::FuncOp kernel, int part) {
    size_t sizes[] = {launch.getIns().size(), launch.getStarts().size(), launch.getOuts().size()}, begin = 0;
    for (int before = 0; before < part; ++before)
      begin += sizes[before];
    return kernel.getArguments().slice(begin, sizes[part]);
  }

  func::FuncOp kernelOf(exec::LaunchOp launch) {
    auto joined = known.find(launch.getKernel());
    return joined != known.end() ? joined->second : symbols.lookup<func::FuncOp>(launch.getKernel());
  }

  /// What a kernel computes: "kernel.add.3" is an add.
  static std::string nameOf(exec::LaunchOp launch) { return launch.getKernel().split('.').second.split('.').first.str(); }

  const SymbolTable &symbols;
  KernelLibrary &kernels;
  llvm::StringMap<func::FuncOp> known; ///< kernels made here
};

struct JoinLaunches : memory::impl::JoinLaunchesBase<JoinLaunches> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    KernelLibrary kernels(module);
    Joiner joiner(symbols, kernels);
    module.walk([&](Operation *op) {
      if (isa<exec::FunctionOp, exec::TaskOp>(op))
        joiner.run(op->getRegion(0).front());
    });
    eraseUnused(module);
  }

  static void eraseUnused(ModuleOp module) {
    llvm::StringSet<> used;
    module.walk([&](exec::LaunchOp launch) { used.insert(launch.getKernel()); });
    for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!kernel.isExternal() && !used.contains(kernel.getSymName()))
        kernel.erase();
  }
};
} // namespace
