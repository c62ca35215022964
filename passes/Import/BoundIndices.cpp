// Which inputs choose rows of a table, and how many rows it has; see Passes.td.
#include "dialects/Graph/GraphOps.h"
#include "passes/Import/Passes.h"

namespace p3d {
#define GEN_PASS_DEF_BOUNDINDICES
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;

namespace {
constexpr llvm::StringLiteral kIndexLimitAttr = "graph.index_limit";

/// The rows of the smallest table that `ids` choose from; nothing if they choose from none.
std::optional<int64_t> smallestTable(Value ids) {
  std::optional<int64_t> least;
  auto take = [&](std::optional<int64_t> rows) {
    if (rows)
      least = std::min(*rows, least.value_or(*rows));
  };
  for (OpOperand &use : ids.getUses()) {
    Operation *op = use.getOwner();
    if (auto embedding = dyn_cast<graph::EmbeddingOp>(op))
      take(use.getOperandNumber() == 1 ? std::optional(embedding.getTable().getType().getDimSize(0)) : std::nullopt);
    else if (auto call = dyn_cast<graph::CallOp>(op))
      take(smallestTable(call.lookupBlock().getBody().getArgument(use.getOperandNumber())));
    else if (isa<graph::ReshapeOp, graph::SliceOp, graph::TransposeOp, graph::ConvertOp>(op))
      take(smallestTable(op->getResult(0)));
  }
  return least;
}

struct BoundIndicesPass : p3d::impl::BoundIndicesBase<BoundIndicesPass> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (auto program : getOperation().getOps<graph::ProgramOp>())
      for (BlockArgument argument : program.getBody().getArguments()) {
        auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
        std::optional<int64_t> limit = role && role.getValue() == "input" ? smallestTable(argument) : std::nullopt;
        if (limit)
          program.setArgAttr(argument.getArgNumber(), kIndexLimitAttr, builder.getI64IntegerAttr(*limit));
      }
  }
};
} // namespace
