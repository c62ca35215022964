//===- Passes.td - passes of the import level ---------------------------------------------------------------------===//
#ifndef P3D_IMPORT_PASSES
#define P3D_IMPORT_PASSES

include "mlir/Pass/PassBase.td"


def CheckInput : Pass<"p3d-check-input", "::mlir::ModuleOp"> {
  let summary = "Reject a module that is not the loss function of a model, with one error";
  let description = [{
    Needs: a module as the parser read it. Guarantees: one public function with one block and tensors of static shape; only operations that
    `p3d-convert-to-graph` takes; no program that another tool has partitioned; no training step; and, unless `allow-non-scalar`,
    a scalar loss of floating-point type and a parameter to train. Everything unsupported is listed in one error, by name and count.
  }];
  let options = [
    Option<"allowNonScalar", "allow-non-scalar", "bool", "false", "Take forward functions, whose first result is no scalar">];
}

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
    origin; `graph.name` and `graph.role` on every argument and `graph.name` on every result. An annotation of an argument (sdy.sharding,
    or the string of GSPMD) is kept as `graph.user_sharding`, that of any other value as `graph.constrain`, both as an sdy.sharding with its mesh written out.

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
  let dependentDialects = ["::p3d::graph::GraphDialect", "::p3d::sdy::SdyDialect"];
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

def FoldConstants : Pass<"p3d-fold-constants", "::p3d::graph::ProgramOp"> {
  let summary = "Evaluate small integer tensors that follow from constants, where they turn out to be uniform or positions";
  let description = [{
    Libraries compute position ids and masks from iotas by comparisons, running sums and gathers. What comes out as one number or as an iota becomes that.

    ```mlir
    %0 = graph.iota {dim = 0 : i64} : tensor<4xi32>
    %1 = graph.slice %0 [0] to [3] step [1] ... %2 = graph.slice %0 [1] to [4] step [1] ... %3 = graph.sub %2, %1 : tensor<3xi32>
    // becomes
    %3 = graph.constant dense<1> : tensor<3xi32>
    ```
  }];
}

def AssignRoles : Pass<"p3d-assign-roles", "::p3d::graph::ProgramOp"> {
  let summary = "Decide which arguments are parameters where their names do not say it";
  let description = [{
    Guarantees: every argument has a role, at least one is a parameter. Each choice is a remark. Integers are inputs, a `ui32[2]` is a random key; a float is an
    input if it carries the batch: the class, by the factors of operations, of dimension 0 of the integer inputs, or of what the loss's last
    reduction sums over.

    ```mlir
    graph.program @loss(%w: tensor<4x2xf32> {graph.name = "arg0"}, %x: tensor<8x4xf32> {graph.name = "arg1"}) {
      %0 = graph.einsum "ab,bc->ac" %x, %w ... %1 = graph.reduce sum %0 dims [0, 1] ...
    // becomes
    graph.program @loss(%w: tensor<4x2xf32> {graph.name = "arg0", graph.role = "param"},
                        %x: tensor<8x4xf32> {graph.name = "arg1", graph.role = "input"})
    ```
  }];
}

def VerifyImport : Pass<"p3d-verify-import", "::mlir::ModuleOp"> {
  let summary = "Verify what the import level guarantees";
  let description = [{
    One program of graph operations; names and roles on its arguments; what depends on parameters is in blocks; layers are numbered in order.
  }];
}

def RecognizeLookups : Pass<"p3d-recognize-lookups", "::p3d::graph::ProgramOp"> {
  let summary = "Find embedding and rope";
  let description = [{
    A gather of a table's rows by ids whose negative ones are repaired; x cos + rotate_half(x) sin with tables whose halves are alike.

    ```mlir
    %negative = graph.compare lt %ids, %zero ... %wrapped = graph.add %ids, %v ... %fixed = graph.select %negative, %wrapped, %ids ...
    %0 = graph.gather %table, %fixed {axis = 0 : i64, batch_dims = 0 : i64} : ...
    // becomes
    %0 = graph.embedding %table, %ids : ...
    ```
  }];
}

def RecognizeNorms : Pass<"p3d-recognize-norms", "::p3d::graph::ProgramOp"> {
  let summary = "Find layer_norm and rms_norm";
  let description = [{
    Needs: a simplified program.

    ```mlir
    x * rsqrt(mean(x * x) + 1e-5) * scale
    // becomes
    %0, %rstd = graph.rms_norm %x, %scale {epsilon = 1.0e-05 : f64} : ...
    ```
  }];
}

def RecognizeActivations : Pass<"p3d-recognize-activations", "::p3d::graph::ProgramOp"> {
  let summary = "Find gelu, silu and swiglu";
  let description = [{
    ```mlir
    0.5 * x * (1 + tanh(0.797884583 * (x + 0.044715 * x * x * x)))
    // becomes
    %0 = graph.gelu tanh %x : ...
    ```
  }];
}

def RecognizeSoftmax : Pass<"p3d-recognize-softmax", "::p3d::graph::ProgramOp"> {
  let summary = "Find softmax and softmax_cross_entropy";
  let description = [{
    ```mlir
    exp(x - max(x)) / sum(exp(x - max(x)))
    // becomes
    %0 = graph.softmax %x : ...
    ```
    log(sum(exp(x))) - x[target] becomes softmax_cross_entropy; a target outside the row that made NaN still does.
  }];
}

def RecognizeAttention : Pass<"p3d-recognize-attention", "::p3d::graph::ProgramOp"> {
  let summary = "Find attention";
  let description = [{
    Needs: softmax found. Scaling, a causal mask and an added mask become part of it; key heads that several query heads share are not repeated.

    ```mlir
    %0 = graph.einsum "abcd,aecd->acbe" %q, %k ... %1 = graph.mul %0, %scale ... %2 = graph.select %causal, %1, %minusInfinity ...
    %3 = graph.softmax %2 ... %4 = graph.einsum "abcd,adbe->acbe" %3, %v ...
    // becomes
    %4, %lse = graph.attention %q, %k, %v {causal, masked_value = 0xFFF0000000000000 : f64, scale = 3.5e-01 : f64} : ...
    ```
  }];
}

def SinkSlices : Pass<"p3d-sink-slices", "::p3d::graph::ProgramOp"> {
  let summary = "Cut the weights instead of what is computed from them";
  let description = [{
    Where the uses of a value are slices that cover one of its dimensions without overlap, they move through element-wise operations, broadcasts, einsums,
    transposes and reshapes onto parameters that have no other use.

    ```mlir
    %qk = graph.einsum "ab,bc->ac" %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %q = graph.slice %qk [0, 0] to [8, 3] step [1, 1] ...
    %k = graph.slice %qk [0, 3] to [8, 6] step [1, 1] ...
    // becomes
    %wq = graph.slice %w [0, 0] to [4, 3] step [1, 1] ...
    %q = graph.einsum "ab,bc->ac" %x, %wq : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    ...
    ```
  }];
}

def SplitParameters : Pass<"p3d-split-parameters", "::p3d::graph::ProgramOp"> {
  let summary = "Make one argument of each piece of a parameter that is used in pieces only";
  let description = [{
    The layers of a stack, or q, k and v of a fused projection. The pieces keep the name of the user's tensor; `graph.global_shape`, `graph.piece_offset` and
    `graph.piece_shape` say what part of it they are.

    ```mlir
    graph.program @loss(%w: tensor<2x4xf32> {graph.name = "params.w", graph.role = "param"}, ...) {
      %0 = graph.slice %w [0, 0] to [1, 4] step [1, 1] ... %1 = graph.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
      %2 = graph.slice %w [1, 0] to [2, 4] step [1, 1] ...
    // becomes
    graph.program @loss(%w0: tensor<4xf32> {graph.name = "params.w", graph.role = "param", graph.global_shape = array<i64: 2, 4>,
                                            graph.piece_offset = array<i64: 0, 0>, graph.piece_shape = array<i64: 1, 4>}, %w1: ...)
    ```
  }];
}

def ChooseInitialization : Pass<"p3d-choose-initialization", "::mlir::ModuleOp"> {
  let summary = "Say how each parameter starts when no file gives it";
  let description = [{
    By its use: the scale of a norm is 1, other vectors are 0, an embedding N(0, 0.02), a weight of a contraction N(0, 1/sqrt(fan-in)); one that ends
    a branch f of a residual x + f(x) is also divided by sqrt(2 x layers), so that the sum of all branches keeps its scale.

    graph.program @loss(%w: tensor<16x4xf32> {graph.role = "param"}) ... graph.einsum "bd,df->bf" %x, %w
    // becomes
    graph.program @loss(%w: tensor<16x4xf32> {graph.init = {kind = "normal", std = 0.25}, graph.role = "param"})
  }];
}

def BoundIndices : Pass<"p3d-bound-indices", "::mlir::ModuleOp"> {
  let summary = "Say which inputs choose rows of a table, so that a batch is checked against it";
  let description = [{
    An input whose values are ids of an embedding gets `graph.index_limit`, the rows of the smallest table: its values must lie in [-limit, limit).
    ```mlir
    graph.program @loss(%ids: tensor<8x16xi32> {graph.role = "input"}, ...) { ... graph.embedding %table, %ids ...
    // becomes
    graph.program @loss(%ids: tensor<8x16xi32> {graph.index_limit = 128, graph.role = "input"}, ...)
    ```
  }];
}

def OutlineLayers : Pass<"p3d-outline-layers", "::mlir::ModuleOp"> {
  let summary = "Outline repeated layers to blocks, and what stands before and after them";
  let description = [{
    Needs: one flat graph.program with roles. Guarantees: every operation that depends on a parameter is in a graph.block; the program calls `first` (what stands
    before the layers, if anything), the layers in order, numbered by `layer`, and `last`, which yields the loss. Isomorphic layers share a block.
    At the top level are only operations independent of parameters: those that several calls share, and sums over the batch.

    A cut is a point of the chain of activations at which one of them is alive; a layer is one period of the longest repeated chain between cuts.

    ```mlir
    graph.program @loss(%w0, %w1, %w2, %x) {
      %0 = graph.einsum "ab,bc->ac" %x, %w0 ... %1 = graph.tanh %0
      %2 = graph.einsum "ab,bc->ac" %1, %w1 ... %3 = graph.tanh %2
      %4 = graph.reduce sum %3 ...
    // becomes
    graph.block @layer(%x, %w) { %0 = graph.einsum ... %1 = graph.tanh %0 ... }
    graph.block @last(%x) { %0 = graph.reduce sum %x ... }
    graph.program @loss(%w0, %w1, %x) {
      %0 = graph.call @layer(%x, %w0) {layer = 0 : i64}
      %1 = graph.call @layer(%0, %w1) {layer = 1 : i64}
      %2 = graph.call @last(%1)
    ```
  }];
}

#endif
