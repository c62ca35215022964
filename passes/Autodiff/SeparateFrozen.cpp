// Layers with other frozen weights become layers of another kind; see Passes.td.
#include "passes/Autodiff/Passes.h"
#include "llvm/ADT/BitVector.h"

namespace p3d {
#define GEN_PASS_DEF_SEPARATEFROZENPASS
#include "passes/Autodiff/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
class Separation {
public:
  explicit Separation(ProgramOp program) : program(program), symbols(program->getParentOp()) {}

  void run() {
    findFrozen();
    for (CallOp call : llvm::to_vector(program.getBody().getOps<CallOp>()))
      callKind(call);
  }

private:
  /// Values that come from frozen weights and constants alone.
  void findFrozen() {
    for (BlockArgument argument : program.getArguments()) {
      auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
      if (role && role.getValue() == "frozen")
        frozen.insert(argument);
    }
    auto isConstant = [](Value value) { return value.getDefiningOp<ConstantOp>(); };
    auto isFrozen = [&](Value value) { return frozen.contains(value); };
    for (Operation &op : program.getBody().front().without_terminator())
      if (!isa<CallOp>(op) && llvm::any_of(op.getOperands(), isFrozen) &&
          llvm::all_of(op.getOperands(), [&](Value value) { return isFrozen(value) || isConstant(value); }))
        frozen.insert(op.result_begin(), op.result_end());
  }

  /// Lets `call` call the copy of its block for calls with the same frozen operands; the first kind keeps the block.
  void callKind(CallOp call) {
    auto block = symbols.lookup<BlockOp>(call.getCallee());
    llvm::BitVector operands(call.getInputs().size());
    for (auto [i, operand] : llvm::enumerate(call.getInputs()))
      if (frozen.contains(operand))
        operands.set(i);
    SmallVector<std::pair<llvm::BitVector, BlockOp>> &known = kinds[block];
    auto same = llvm::find_if(known, [&](const auto &kind) { return kind.first == operands; });
    BlockOp kind = same != known.end() ? same->second : known.empty() ? block : copyOf(block, known.back().second);
    if (same == known.end())
      known.emplace_back(operands, kind);
    call.setCallee(kind.getSymName());
  }

  /// With a name of its own.
  BlockOp copyOf(BlockOp block, BlockOp before) {
    BlockOp copy = block.clone();
    symbols.insert(copy, ++Block::iterator(before));
    return copy;
  }

  ProgramOp program;
  SymbolTable symbols;
  llvm::DenseSet<Value> frozen;
  DenseMap<Operation *, SmallVector<std::pair<llvm::BitVector, BlockOp>>> kinds;
};

struct SeparateFrozenPass : p3d::impl::SeparateFrozenPassBase<SeparateFrozenPass> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      Separation(program).run();
  }
};
} // namespace
