// How each parameter is initialised when no file gives it, decided by its use; see Passes.td.
#include "dialects/Graph/EinsumSpec.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Import/Passes.h"
#include "passes/Support/Signature.h"
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

/// The argument of the block that `value` is, perhaps in another form; null if it is computed.
BlockArgument argumentOf(Value value) {
  while (isa_and_nonnull<graph::ConvertOp, graph::ReshapeOp, graph::TransposeOp, graph::BroadcastOp, graph::SliceOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return dyn_cast<BlockArgument>(value);
}

bool isBias(Value value) {
  BlockArgument argument = argumentOf(value);
  return argument && tensorType(argument).getRank() <= 1;
}

/// Whether `value` is computed from `ancestor`.
bool dependsOn(Value value, Value ancestor) {
  llvm::SetVector<Value> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i] == ancestor)
      return true;
    if (Operation *def = open[i].getDefiningOp())
      open.insert(def->operand_begin(), def->operand_end());
  }
  return false;
}

/// Whether `value` is what a branch f adds to the residual stream, x + f(x), but for a bias, views, and what weights it by data (the gates of experts).
bool endsResidualBranch(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto add = dyn_cast<graph::AddOp>(user)) {
      Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
      return isBias(other) ? endsResidualBranch(add) : dependsOn(value, other);
    }
    bool isView = isa<graph::ConvertOp, graph::ReshapeOp, graph::TransposeOp, graph::ConstrainOp, graph::ReduceOp>(user);
    bool isGated = isa<graph::MulOp, graph::EinsumOp>(user) && llvm::none_of(user->getOperands(), argumentOf);
    return (isView || isGated) && endsResidualBranch(user->getResult(0));
  });
}

class UseReader {
public:
  UseReader(ModuleOp module, int64_t layers) : symbols(module), layers(layers) {}

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
      return Initialization{"normal", 1 / std::sqrt(fanIn(einsum, use) * (layers > 0 && endsResidualBranch(einsum) ? 2 * layers : 1))};
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
  /// How many layers add to the residual stream: the sum of twice as many branches has to keep the scale of one.
  int64_t layers;
};

int64_t countLayers(ModuleOp module) {
  int64_t layers = 0;
  module.walk([&](graph::CallOp call) { layers += call.getLayer().has_value(); });
  return layers;
}

struct ChooseInitializationPass : p3d::impl::ChooseInitializationBase<ChooseInitializationPass> {
  void runOnOperation() override {
    UseReader reader(getOperation(), countLayers(getOperation()));
    OpBuilder builder(&getContext());
    for (auto program : getOperation().getOps<graph::ProgramOp>())
      editArgumentAttributes(program, [&](unsigned i, NamedAttrList &attributes) {
        BlockArgument argument = program.getBody().getArgument(i);
        auto role = dyn_cast_or_null<StringAttr>(attributes.get(graph::kRoleAttr));
        if (!role || role.getValue() == "input")
          return;
        bool isMatrix = tensorType(argument).getRank() > 1;
        auto init = reader.read(argument).value_or(isMatrix ? Initialization{"normal", kEmbeddingStd} : Initialization{});
        attributes.set(kInitAttr, builder.getDictionaryAttr({builder.getNamedAttr("kind", builder.getStringAttr(init.kind)),
                                                             builder.getNamedAttr("std", builder.getF64FloatAttr(init.std))}));
      });
  }
};
} // namespace
