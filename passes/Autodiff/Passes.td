//===- Passes.td - from a loss to a training step -----------------------------------------------------------------===//
#ifndef P3D_AUTODIFF_PASSES
#define P3D_AUTODIFF_PASSES

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"p3d-differentiate", "::mlir::ModuleOp"> {
  let summary = "turn the loss program into a training step";
  let description = [{
    Needs one `graph.program` whose result 0 is the scalar loss. Guarantees: each block @b that the program calls becomes @b.fwd, whose last
    `graph.saves` results are kept for @b.bwd, and, if a gradient passes through it, @b.bwd(gradients of results, arguments of @b that it needs, saved
    values) -> gradients of arguments. The program calls the forward blocks in order, the backward blocks in reverse, and returns the loss, the metrics
    and `grads.*` of each float argument of role "param", zero where the loss does not depend on it. Forward ops carry `graph.id`, backward ops
    `graph.of` and `graph.grad_role`: "weight_grad" where neither they nor what they feed are the gradient of a value that depends on inputs.

    ```mlir
    graph.block @layer(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {
      %h = graph.einsum "bd,df->bf" %x, %w
      %a = graph.gelu tanh %h
      graph.yield %a
    }
    // becomes (types left out)
    graph.block @layer.fwd(%x, %w) -> (%a, %h) attributes {graph.saves = 1}
    graph.block @layer.bwd(%da, %x, %w, %h) -> (%dx, %dw) {
      %dh = graph.gelu_grad tanh %da, %h
      %dx = graph.einsum "bf,df->bd" %dh, %w
      %dw = graph.einsum "bf,bd->df" %dh, %x
      graph.yield %dx, %dw
    }
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw, sgd or none: the graph.update of each parameter">,
    Option<"recompute", "recompute", "std::string", "\"none\"",
           "none: keep operands of contractions, inputs of named ops and statistics; selective: recompute norms and activations too; full: keep "
           "the arguments of a block alone">];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

#endif
