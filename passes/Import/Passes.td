//===- Passes.td - passes of the import level ---------------------------------------------------------------------===//
#ifndef P3D_IMPORT_PASSES
#define P3D_IMPORT_PASSES

include "mlir/Pass/PassBase.td"


def InlineCalls : Pass<"p3d-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Inline private functions, and composites by their decomposition";
  let description = [{
    Guarantees: only public functions are left, without calls.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = call @double(%x) : ... }
    func.func private @double(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.add %a, %a ... }
    // becomes
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.add %x, %x ... }
    ```
  }];
}

def UnrollLoops : Pass<"p3d-unroll-loops", "::mlir::func::FuncOp"> {
  let summary = "Unroll counted loops; integer scalars that follow from the counter become constants";
  let description = [{
    Needs: no calls. Guarantees: no `stablehlo.while`, `case` or `if` is left. A loop whose condition does not follow from integer constants
    is an error.

    ```mlir
    %r:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i32>, tensor<4xf32>
      cond { i < 2 } do { %w_i = stablehlo.dynamic_slice %w, %i, %zero, sizes = [1, 4]; x = x * w_i; i = i + 1 }
    // becomes, for i = 0 and i = 1
    %w_0 = stablehlo.dynamic_slice %w, %c0, %zero, sizes = [1, 4]
    ...
    ```
  }];
  let options = [
    Option<"maxTrips", "max-trips", "int64_t", "10000", "Refuse loops of more iterations">];
}

def ConvertToGraph : Pass<"p3d-convert-to-graph", "::mlir::ModuleOp"> {
  let summary = "Translate the function to graph.program @loss";
  let description = [{
    Needs: one public function without calls and loops. Guarantees: one `graph.program @loss` of graph operations, each at the location of its
    origin; `graph.name` and `graph.role` on every argument and `graph.name` on every result. An annotation `sdy.sharding` of an argument is kept as
    `graph.user_sharding`.

    ```mlir
    func.func @main(%w: tensor<4x2xf32> loc("params['w']"), %x: tensor<8x4xf32> loc("batch['x']")) -> tensor<8x2xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ...
    // becomes
    graph.program @loss(%w: tensor<4x2xf32> {graph.name = "params.w", graph.role = "param"},
                        %x: tensor<8x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> ... {
      %0 = graph.einsum "ab,bc->ac" %x, %w : ...
    ```
  }];
  let options = [
    Option<"params", "params", "std::string", "\"\"", "Regular expression: names of parameters">,
    Option<"inputs", "inputs", "std::string", "\"\"", "Regular expression: names of inputs">,
    Option<"freeze", "freeze", "std::string", "\"\"", "Regular expression: names of parameters that are not trained">];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}


def SimplifyGraph : Pass<"p3d-simplify-graph", "::p3d::graph::ProgramOp"> {
  let summary = "Fold what exporters print but nobody needs";
  let description = [{
    Chains of broadcasts, reshapes, transposes and converts become one; operations on uniform constants are evaluated; x*1, x+0, max(x, -inf) and
    their like are x; a transpose of an einsum's operand or result becomes part of its letters; equal operations are computed once.

    ```mlir
    %0 = graph.broadcast %b dims [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %1 = graph.broadcast %0 dims [0, 1] : (tensor<1x4xf32>) -> tensor<8x4xf32>
    // becomes
    %1 = graph.broadcast %b dims [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    ```
  }];
}

def ChooseInitialization : Pass<"p3d-choose-initialization", "::mlir::ModuleOp"> {
  let summary = "Say how each parameter starts when no file gives it";
  let description = [{
    By its use: the scale of a norm is 1, other vectors are 0, an embedding N(0, 0.02), a weight of a contraction N(0, 1/sqrt(fan-in)).

    graph.program @loss(%w: tensor<16x4xf32> {graph.role = "param"}) ... graph.einsum "bd,df->bf" %x, %w
    // becomes
    graph.program @loss(%w: tensor<16x4xf32> {graph.init = {kind = "normal", std = 0.25}, graph.role = "param"})
  }];
}

#endif
