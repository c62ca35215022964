//===- Passes.td - from a loss to a training step -----------------------------------------------------------------===//
#ifndef P3D_AUTODIFF_PASSES
#define P3D_AUTODIFF_PASSES

include "mlir/Pass/PassBase.td"

def SeparateFrozenPass : Pass<"p3d-separate-frozen", "::mlir::ModuleOp"> {
  let summary = "give layers with other frozen weights a block of their own";
  let description = [{
    A block is differentiated once, for all that any call of it needs. Calls whose arguments are frozen in other places therefore call copies of it, so that nothing is
    computed, saved or kept for weights that stay as they are: with `--freeze=layers\.[01]\.` the first two layers have no backward pass.

    ```mlir
    graph.program @loss(%a {graph.role = "frozen"}, %b {graph.role = "param"}, %x) { %y = graph.call @layer(%x, %a)  %z = graph.call @layer(%y, %b) .. }
    // becomes
    graph.program @loss(%a {graph.role = "frozen"}, %b {graph.role = "param"}, %x) { %y = graph.call @layer(%x, %a)  %z = graph.call @layer_0(%y, %b) .. }
    ```
  }];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

def DifferentiatePass : Pass<"p3d-differentiate", "::mlir::ModuleOp"> {
  let summary = "turn the loss program into a training step";
  let description = [{
    Needs one `graph.program` whose result 0 is the scalar loss. Guarantees: each block @b that the program calls becomes @b.fwd, whose last
    `graph.saves` results are kept for @b.bwd, and, if a gradient passes through it, @b.bwd(gradients of results, arguments of @b that it needs, saved
    values) -> gradients of arguments. The program calls the forward blocks in order, the backward blocks in reverse, and returns the loss, the metrics
    and `grads.*` of each float argument of role "param", zero where the loss does not depend on it. Forward ops carry `graph.id`, backward ops
    `graph.of` and `graph.grad_role`: "weight_grad" where neither they nor what they feed are the gradient of a value that depends on inputs.
    The gradient of the loss is 1; in a program that computes in f16 it is a further argument `loss_scale` of the same role, which multiplies all gradients.

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
           "none: keep operands of contractions, inputs of named ops and statistics; selective: recompute attention, norms and activations too; full: keep "
           "the arguments of a layer alone, outside the layers selective">];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

def WidenProductsPass : Pass<"p3d-widen-products", "::mlir::ModuleOp"> {
  let summary = "Leave sums that are wanted in f32 unrounded";
  let description = [{
    A product, a sum, or the gradient of an embedding, of 16-bit floats whose only use is a conversion to f32 gives f32 itself: its sums are kept in f32 anyway. So the gradient
    of a weight is accumulated over microbatches without having been rounded.

    ```mlir
    %p = graph.einsum "ab,ac->bc" %x, %dy : (tensor<8x4xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
    %g = graph.convert %p : (tensor<4x6xbf16>) -> tensor<4x6xf32>
    // becomes
    %g = graph.einsum "ab,ac->bc" %x, %dy : (tensor<8x4xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
    ```
  }];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

def NarrowParametersPass : Pass<"p3d-narrow-parameters", "::mlir::ModuleOp"> {
  let summary = "Store in 16 bits what is only read in 16 bits";
  let description = [{
    A trained f32 parameter every use of which is a conversion to one 16-bit type, perhaps behind a gather, slice, reshape, transpose or broadcast, becomes a parameter of that type
    in the program and in all blocks that it goes through. The conversion moves into the update: the f32 value is the master in the optimizer's state, and what files hold.
    Frozen parameters, which have no such state, stay as they are.

    ```mlir
    graph.program @loss(%w: tensor<4x6xf32>, ..) { %b = graph.convert %w : (tensor<4x6xf32>) -> tensor<4x6xbf16> .. graph.update "adamw" %w, %g }
    // becomes
    graph.program @loss(%w: tensor<4x6xbf16>, ..) { .. graph.update "adamw" %w, %g : tensor<4x6xbf16>, tensor<4x6xf32> }
    ```
  }];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

#endif
