// How each parameter is initialised when no file gives it, decided by its use; see Passes.td.
#include "dialects/Graph/EinsumSpec.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Import/Passes.h"
#include <cmath>

namespace p3d {
#define GEN_PASS_DEF_CHOOSEINITIALIZATION
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using graph::tensorType;

namespace {
constexpr llvm::StringLiteral kInitAttr = "graph.init";
constexpr double kEmbeddingStd = 0.02;

struct Initialization {
  StringRef kind = "zeros";
  double std = 0;
  bool isTable = false;
};

class UseReader {
public:
  explicit UseReader(ModuleOp module) : symbols(module) {}

  /// What the uses say the parameter is: a norm's scale, a table, an operand of a contraction. A table that is also the head (tied) is a table.
  std::optional<Initialization> read(Value value) {
    std::optional<Initialization> found;
    for (OpOperand &use : value.getUses()) {
      auto next = readUse(use);
      if (next && (!found || next->isTable))
        found = next;
    }
    return found;
  }

private:
  std::optional<Initialization> readUse(OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto call = dyn_cast<graph::CallOp>(op))
      return read(symbols.lookup<graph::BlockOp>(call.getCallee()).getBody().getArgument(use.getOperandNumber()));
    if (isa<graph::EmbeddingOp, graph::GatherOp>(op) && use.getOperandNumber() == 0)
      return Initialization{"normal", kEmbeddingStd, /*isTable=*/true};
    if (isa<graph::LayerNormOp, graph::RmsNormOp>(op))
      return Initialization{use.getOperandNumber() == 1 ? "ones" : "zeros"};
    if (auto einsum = dyn_cast<graph::EinsumOp>(op))
      return Initialization{"normal", 1 / std::sqrt(fanIn(einsum, use))};
    bool isVector = tensorType(use.get()).getRank() <= 1;
    if (isVector && isa<graph::MulOp>(op))
      return Initialization{"ones"};
    if (isVector && isa<graph::AddOp, graph::SubOp>(op))
      return Initialization{"zeros"};
    if (isa<graph::BroadcastOp>(op))
      return readBroadcast(use);
    if (isa<graph::ConvertOp, graph::ReshapeOp, graph::TransposeOp, graph::SliceOp>(op))
      return read(op->getResult(0));
    return std::nullopt;
  }

  /// A vector spread over rows: a scale if it multiplies, a bias if it is added.
  std::optional<Initialization> readBroadcast(OpOperand &use) {
    if (tensorType(use.get()).getRank() > 1)
      return read(use.getOwner()->getResult(0));
    for (Operation *user : use.getOwner()->getResult(0).getUsers())
      if (isa<graph::MulOp>(user))
        return Initialization{"ones"};
    return Initialization{"zeros"};
  }

  /// The product of the sizes that the contraction sums over.
  static double fanIn(graph::EinsumOp einsum, OpOperand &use) {
    graph::EinsumSpec spec = *graph::EinsumSpec::parse(einsum.getSpec());
    const std::string &letters = use.getOperandNumber() == 0 ? spec.lhs : spec.rhs;
    double product = 1;
    for (auto [letter, size] : llvm::zip(letters, tensorType(use.get()).getShape()))
      if (!graph::EinsumSpec::has(spec.result, letter))
        product *= size;
    return product;
  }

  SymbolTable symbols;
};

struct ChooseInitializationPass : p3d::impl::ChooseInitializationBase<ChooseInitializationPass> {
  void runOnOperation() override {
    UseReader reader(getOperation());
    OpBuilder builder(&getContext());
    for (auto program : getOperation().getOps<graph::ProgramOp>())
      for (auto [i, argument] : llvm::enumerate(program.getBody().getArguments())) {
        auto role = program.getArgAttrOfType<StringAttr>(i, graph::kRoleAttr);
        if (!role || role.getValue() == "input")
          continue;
        bool isMatrix = tensorType(argument).getRank() > 1;
        auto init = reader.read(argument).value_or(isMatrix ? Initialization{"normal", kEmbeddingStd} : Initialization{});
        program.setArgAttr(i, kInitAttr,
                           builder.getDictionaryAttr({builder.getNamedAttr("kind", builder.getStringAttr(init.kind)),
                                                      builder.getNamedAttr("std", builder.getF64FloatAttr(init.std))}));
      }
  }
};
} // namespace
