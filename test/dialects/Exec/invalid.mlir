// Commands that do not fit what they call.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics

exec.function @layer(%x: memref<4xf32>, %y: memref<4xf32>) attributes {outs = 1 : i64} {
  // expected-error @+1 {{'exec.launch' op launches 'kernel.none', which is no kernel of this module}}
  exec.launch @kernel.none(%x) -> (%y) : (memref<4xf32>) -> memref<4xf32>
}

// -----

func.func private @kernel.add(%x: memref<4xf32>, %y: memref<4xf32>) { return }
exec.function @layer(%x: memref<4xf32>, %y: memref<8xf32>) attributes {outs = 1 : i64} {
  // expected-error @+1 {{'exec.launch' op does not give the parameters of 'kernel.add', which are '(memref<4xf32>, memref<4xf32>) -> ()'}}
  exec.launch @kernel.add(%x) -> (%y) : (memref<4xf32>) -> memref<8xf32>
}

// -----

exec.function @layer(%x: memref<4xf32>, %y: memref<4xf32>) attributes {outs = 1 : i64} {
  // expected-error @+1 {{'exec.call' op calls 'none', which is no exec.function of this module}}
  exec.call @none(%x) -> (%y) : (memref<4xf32>) -> memref<4xf32>
}

// -----

exec.function @layer(%x: memref<4xf32>, %y: memref<4xf32>) attributes {outs = 1 : i64} {
}
// The types fit, but one of the callee's parameters is its result.
exec.function @caller(%x: memref<4xf32>, %y: memref<4xf32>) attributes {outs = 2 : i64} {
  // expected-error @+1 {{'exec.call' op does not give the parameters of 'layer', which are '(memref<4xf32>, memref<4xf32>) -> ()', the last 1 of them outs}}
  exec.call @layer() -> (%x, %y) : () -> (memref<4xf32>, memref<4xf32>)
}

// -----

exec.function @layer(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {outs = 1 : i64} {
  // expected-error @+1 {{'exec.einsum' op has 1 ins and 1 outs, expected 2 and 1}}
  exec.einsum "ab,bc->ac"(%x) -> (%y) : (memref<4x4xf32>) -> memref<4x4xf32>
}

// -----

exec.function @layer(%x: memref<4x4xf32>, %b: memref<4xf32>, %y: memref<4x4xf32>) attributes {outs = 1 : i64} {
  // expected-error @+1 {{'exec.einsum' op has 2 ins and 1 outs, expected 3 and 1}}
  exec.einsum "ab,bc->ac"(%x, %x) -> (%y) then bias : (memref<4x4xf32>, memref<4x4xf32>) -> memref<4x4xf32>
}

// -----

exec.function @layer(%x: memref<4x4xf32>, %b: memref<3xf32>, %y: memref<4x4xf32>) attributes {outs = 1 : i64} {
  // expected-error @+1 {{'exec.einsum' op has 'memref<3xf32>' for its epilogue bias, expected a vector along 'memref<4x4xf32>' of 'f32'}}
  exec.einsum "ab,bc->ac"(%x, %x, %b) -> (%y) then bias : (memref<4x4xf32>, memref<4x4xf32>, memref<3xf32>) -> memref<4x4xf32>
}

// -----

exec.function @layer(%x: memref<4x4xf32>, %b: memref<4x4xbf16>, %y: memref<4x4xf32>) attributes {outs = 1 : i64} {
  // expected-error @+1 {{'exec.einsum' op has 'memref<4x4xbf16>' for its epilogue gelu_grad, expected memory like 'memref<4x4xf32>' of 'f32'}}
  exec.einsum "ab,bc->ac"(%x, %x, %b) -> (%y) then gelu_grad : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xbf16>) -> memref<4x4xf32>
}

// -----

exec.function @layer(%x: memref<4x4xf32>, %b: memref<4xf32>, %y: memref<4x4xf32>) attributes {outs = 1 : i64} {
  // expected-error @+1 {{'exec.einsum' op adds to its out, but its epilogue bias is of the product alone}}
  exec.einsum "ab,bc->ac"(%x, %x, %b) -> (%y) adds then bias : (memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>) -> memref<4x4xf32>
}
