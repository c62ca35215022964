// The arithmetic of graph operations.
#include "passes/Support/Flops.h"
#include "dialects/Graph/EinsumSpec.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

Flops &Flops::operator+=(const Flops &other) {
  contractions += other.contractions;
  attention += other.attention;
  fullAttention += other.fullAttention;
  elements += other.elements;
  recomputed += other.recomputed;
  fullRecomputed += other.fullRecomputed;
  return *this;
}

Flops Flops::operator*(int64_t times) const {
  return {contractions * times, attention * times,  fullAttention * times,
          elements * times,     recomputed * times, fullRecomputed * times};
}

namespace {
int64_t einsumFlops(EinsumOp op) {
  auto spec = EinsumSpec::parse(op.getSpec());
  if (!spec)
    return 0;
  int64_t flops = 2;
  auto lhs = tensorType(op.getLhs()), rhs = tensorType(op.getRhs());
  for (char letter : spec->letters()) {
    size_t at = spec->lhs.find(letter);
    flops *= at != std::string::npos ? lhs.getDimSize(at) : rhs.getDimSize(spec->rhs.find(letter));
  }
  return flops;
}

/// `products` times 2 b h s t d, of q [b, s, h, d] and k [b, t, ..].
Flops attentionFlops(Value query, Value key, int64_t products, bool causal) {
  Flops flops;
  flops.fullAttention = 2 * products * tensorType(query).getNumElements() * tensorType(key).getDimSize(1);
  flops.attention = causal ? flops.fullAttention / 2 : flops.fullAttention;
  return flops;
}

Flops elementFlops(Operation *op) {
  Flops flops;
  for (Value result : op->getResults())
    flops.elements += tensorType(result).getNumElements();
  return flops;
}

} // namespace

Flops p3d::countFlops(Operation *op) {
  Flops flops =
      TypeSwitch<Operation *, Flops>(op)
          .Case([](EinsumOp einsum) {
            Flops flops;
            flops.contractions = einsumFlops(einsum);
            return flops;
          })
          .Case([](AttentionOp op) { return attentionFlops(op.getQuery(), op.getKey(), 2, op.getCausal()); })
          .Case([](AttentionGradOp op) { return attentionFlops(op.getQuery(), op.getKey(), 4, op.getCausal()); })
          .Case([](CallOp call) {
            BlockOp block = call.lookupBlock();
            return block ? countFlops(block.getBody().front()) : Flops();
          })
          .Case<ConstantOp, ReshapeOp, BroadcastOp, YieldOp>([](Operation *) { return Flops(); })
          .Default([](Operation *other) { return elementFlops(other); });
  if (op->hasAttr(kRecomputedAttr)) {
    flops.recomputed = flops.contractions + flops.attention;
    flops.fullRecomputed = flops.contractions + flops.fullAttention;
  }
  return flops;
}

Flops p3d::countFlops(Block &body) {
  Flops flops;
  for (Operation &op : body)
    flops += countFlops(&op);
  return flops;
}
