// Commands as LLVM instructions and calls of the runtime and the kernels.
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/LlvmBuilder.h"
#include "passes/Lower/Operations.h"

namespace p3d::lower {

/// A kernel of which threads can share a loop; see p3d_parallel.
struct SplitKernel {
  std::string part; ///< the function that does a part
  int64_t extent, grain;
};

/// What a list of commands may refer to, as LLVM values.
struct CommandEnvironment {
  mlir::Value context, scratch, microbatch;
  /// Of tasks alone: the arena, and the slot of what they send among those of all chunks.
  mlir::Value arena, slot;
  const mlir::SymbolTable *buffers = nullptr; ///< of the program
  /// Blocks and threads of each kernel where commands are enqueued on a GPU; null where they are done at once.
  mlir::DictionaryAttr launches;
  /// The kernels of which threads share a loop.
  const llvm::StringMap<SplitKernel> *splits = nullptr;
};

/// The element type's number in runtime.h, or -1.
int dtypeNumber(mlir::Type element);

/// The linker's name of an exec.function: apart from all names of C.
std::string functionSymbol(llvm::StringRef name);

class CommandLowering {
public:
  CommandLowering(LlvmBuilder &llvm, OperationNames &names, CommandEnvironment environment)
      : llvm(llvm), names(names), environment(environment) {}

  void bind(mlir::Value memory, mlir::Value address) { values[memory] = address; }
  /// Emits an error for a command that has no form here.
  mlir::LogicalResult lower(mlir::Block &commands);

private:
  mlir::Value addressOf(exec::SlabOp slab);
  mlir::LogicalResult lower(exec::AddressOp op);
  mlir::LogicalResult lower(exec::ConstantOp op);
  mlir::LogicalResult lower(exec::TemporaryOp op);
  mlir::LogicalResult lower(exec::StartOp op);
  mlir::LogicalResult lower(exec::ViewOp op);
  mlir::LogicalResult lower(exec::LaunchOp op);
  mlir::LogicalResult lower(exec::InvokeOp op);
  mlir::LogicalResult lower(exec::EinsumOp op);
  mlir::LogicalResult lower(exec::CallOp op);
  mlir::LogicalResult lower(exec::AllReduceOp op);
  mlir::LogicalResult lower(exec::ReduceSharesOp op);
  mlir::LogicalResult lower(exec::GatherSharesOp op);
  mlir::LogicalResult lower(exec::AllGatherOp op);
  mlir::LogicalResult lower(exec::ReduceScatterOp op);
  mlir::LogicalResult lower(exec::AllToAllOp op);
  mlir::LogicalResult lower(exec::SendOp op);
  mlir::LogicalResult lower(exec::RecvOp op);
  mlir::LogicalResult lower(exec::RecordOp op);
  mlir::LogicalResult lower(exec::WaitOp op);
  mlir::LogicalResult lower(exec::UpdateOp) { return mlir::success(); }

  /// What a message over a row of shares is given: where the row begins and where this rank's share does, in the order that `op` takes them; then the row's form.
  template <typename Op> llvm::SmallVector<mlir::Value> rowArguments(Op op, llvm::StringRef what, bool fromShare);
  /// Lets the runtime look at the floats that a command made.
  void showResults(mlir::Operation *command);
  void enqueue(exec::LaunchOp op, llvm::ArrayRef<mlir::Value> arguments);
  void addEpilogue(exec::EinsumOp op, llvm::SmallVectorImpl<mlir::Value> &arguments);

  mlir::Value at(mlir::Value value) { return values.lookup(value); }
  llvm::SmallVector<mlir::Value> at(mlir::ValueRange memories);
  mlir::Value group(exec::Group group) { return llvm.i32(static_cast<int64_t>(group)); }
  mlir::Value dtype(mlir::Type element) { return llvm.i32(dtypeNumber(element)); }
  mlir::Value operation(mlir::StringRef what, mlir::StringRef reason);
  mlir::Value constant(mlir::Attribute attribute);

  LlvmBuilder &llvm;
  OperationNames &names;
  CommandEnvironment environment;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Operation *, mlir::Value> slabs;
};

} // namespace p3d::lower
