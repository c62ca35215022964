// Weights that are only read in 16 bits are stored in 16 bits; see Passes.td.
#include "passes/Autodiff/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace p3d {
#define GEN_PASS_DEF_NARROWPARAMETERSPASS
#include "passes/Autodiff/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// Operations that pass elements of their first operand on as they are.
bool movesElements(OpOperand &use) { return use.getOperandNumber() == 0 && isa<ReshapeOp, TransposeOp, SliceOp, BroadcastOp, GatherOp, EmbeddingOp>(use.getOwner()); }

bool isF32(Value value) { return tensorType(value).getElementType().isF32(); }

class Narrowing {
public:
  explicit Narrowing(ModuleOp module) : module(module), symbols(module) {
    for (auto program : module.getOps<ProgramOp>())
      for (auto update : program.getBody().getOps<UpdateOp>())
        if (auto argument = dyn_cast<BlockArgument>(update.getParameter()); argument && isF32(argument))
          types[argument] = Type();
  }

  void run() {
    // What one call keeps wide, all calls of its block keep wide.
    while (dropOne())
      ;
    for (auto &[argument, type] : types)
      if (type)
        narrow(argument, type);
    for (auto &[argument, type] : blockTypes)
      if (type)
        narrow(argument, type);
    for (Operation &op : *module.getBody())
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        function.setType(FunctionType::get(op.getContext(), function.getFunctionBody().getArgumentTypes(), function.getResultTypes()));
  }

private:
  /// Takes one parameter out that has to stay f32; false if there is none.
  bool dropOne() {
    blockTypes.clear();
    for (auto &[argument, type] : types) {
      type = Type();
      if (!readsNarrow(argument, type) || !type) {
        types.erase(argument);
        return true;
      }
    }
    for (auto &[argument, type] : blockTypes)
      for (auto call : (*module.getOps<ProgramOp>().begin()).getBody().getOps<CallOp>()) {
        Value operand = symbols.lookup<BlockOp>(call.getCallee()) == argument.getOwner()->getParentOp() ? call.getInputs()[argument.getArgNumber()] : Value();
        auto parameter = dyn_cast_or_null<BlockArgument>(operand);
        if (operand && !(parameter && types.count(parameter))) {
          dropCallersOf(argument);
          return true;
        }
      }
    return false;
  }

  void dropCallersOf(BlockArgument argument) {
    for (auto call : (*module.getOps<ProgramOp>().begin()).getBody().getOps<CallOp>())
      if (symbols.lookup<BlockOp>(call.getCallee()) == argument.getOwner()->getParentOp())
        if (auto parameter = dyn_cast<BlockArgument>(call.getInputs()[argument.getArgNumber()]))
          types.erase(parameter);
  }

  /// Whether every use of `value` is a conversion to one 16-bit type, which becomes `type`.
  bool readsNarrow(Value value, Type &type) {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *op = use.getOwner();
      if (isa<UpdateOp>(op))
        return use.getOperandNumber() == 0;
      if (auto convert = dyn_cast<ConvertOp>(op)) {
        Type to = convert.getType().getElementType();
        bool fits = isa<FloatType>(to) && to.getIntOrFloatBitWidth() == 16 && (!type || type == to);
        type = to;
        return fits;
      }
      if (auto call = dyn_cast<CallOp>(op)) {
        BlockArgument argument = symbols.lookup<BlockOp>(call.getCallee()).getBody().getArgument(use.getOperandNumber());
        bool fits = readsNarrow(argument, type);
        blockTypes[argument] = type;
        return fits;
      }
      return movesElements(use) && readsNarrow(op->getResult(0), type);
    });
  }

  void narrow(Value value, Type type) {
    value.setType(tensorType(value).clone(type));
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      Operation *op = use.getOwner();
      if (auto convert = dyn_cast<ConvertOp>(op)) {
        convert.replaceAllUsesWith(value);
        convert.erase();
      } else if (movesElements(use)) {
        narrow(op->getResult(0), type);
      }
    }
  }

  ModuleOp module;
  SymbolTable symbols;
  /// The parameters that may be narrow, and the arguments of blocks through which they go, with the type that they are read in.
  llvm::MapVector<BlockArgument, Type> types, blockTypes;
};

struct NarrowParametersPass : p3d::impl::NarrowParametersPassBase<NarrowParametersPass> {
  void runOnOperation() override {
    if (!getOperation().getOps<ProgramOp>().empty())
      Narrowing(getOperation()).run();
  }
};
} // namespace
