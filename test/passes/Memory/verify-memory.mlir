// Programs that overwrite what is alive are rejected, whoever planned them.
// RUN: p3dc-opt %s -p3d-verify-memory -split-input-file -verify-diagnostics

func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }

// The second temporary takes the place of the first, which is read afterwards.
exec.function @overwritten(%x: memref<16xf32>, %y: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 64 : i64} {
  // expected-note @+1 {{the temporary; it was never written, or overwritten since}}
  %a = exec.temporary at 0 : memref<16xf32>
  %b = exec.temporary at 0 : memref<16xf32>
  exec.launch @kernel.neg(%x) -> (%a) : (memref<16xf32>) -> memref<16xf32>
  exec.launch @kernel.neg(%x) -> (%b) : (memref<16xf32>) -> memref<16xf32>
  // expected-error @+1 {{reads a temporary at [0, 64) that is not alive}}
  exec.launch @kernel.neg(%a) -> (%y) : (memref<16xf32>) -> memref<16xf32>
}

// -----

func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }

exec.function @clash(%x: memref<16xf32>, %y: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 128 : i64} {
  %a = exec.temporary at 0 : memref<16xf32>
  %b = exec.temporary at 32 : memref<16xf32>
  exec.launch @kernel.neg(%x) -> (%a) : (memref<16xf32>) -> memref<16xf32>
  // expected-error @+1 {{writes memory that it reads or writes as another operand}}
  exec.launch @kernel.neg(%a) -> (%b) : (memref<16xf32>) -> memref<16xf32>
}

// -----

func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }

exec.function @outside(%x: memref<16xf32>) attributes {outs = 0 : i64, scratch_bytes = 64 : i64} {
  %a = exec.temporary at 64 : memref<16xf32>
  // expected-error @+1 {{writes [64, 128) of a scratch of 64 bytes}}
  exec.launch @kernel.neg(%x) -> (%a) : (memref<16xf32>) -> memref<16xf32>
}

// -----

exec.program @stage0 index 0 slots [2] arena 512 zero 0 at 0 {
  // expected-error @+1 {{lies at [64, 128)}}
  exec.slab @kept_forward bytes 64 copies 2 at [0, 64]
  exec.buffer activation @a in @kept_forward at 0 : memref<16xf32> of f32
  // expected-note @+1 {{and overlaps what lies at [96, 160)}}
  exec.buffer parameter @b at 96 : memref<16xf32> of f32
}

// -----

exec.function @callee(%x: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 64 : i64} {
}
exec.function @outside_callee(%x: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 64 : i64} {
  // expected-error @+1 {{gives its callee [32, 96) of a scratch of 64 bytes}}
  exec.call @callee() -> (%x) scratch 32 : () -> memref<16xf32>
}

// -----

exec.function @callee(%x: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 64 : i64} {
}
exec.function @shared_scratch() attributes {outs = 0 : i64, scratch_bytes = 64 : i64} {
  %a = exec.temporary at 0 : memref<16xf32>
  // expected-error @+1 {{gives its callee a scratch that holds an operand}}
  exec.call @callee() -> (%a) scratch 0 : () -> memref<16xf32>
}

// -----

exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
  // expected-error @+1 {{has no place in the arena}}
  exec.buffer parameter @a : memref<16xf32> of f32
}

// -----

// expected-error @+1 {{needs 128 bytes of an arena of 64}}
exec.program @stage0 index 0 slots [1] arena 64 zero 0 at 0 {
  exec.buffer parameter @a at 64 : memref<16xf32> of f32
}

// -----

// The sum that an epilogue keeps takes the place of the product.
exec.function @epilogueClash(%x: memref<4x4xf32>, %b: memref<4xf32>, %y: memref<4x4xf32>) attributes {outs = 1 : i64, scratch_bytes = 64 : i64} {
  %a = exec.temporary at 0 : memref<4x4xf32>
  %s = exec.temporary at 0 : memref<4x4xf32>
  // expected-error @+1 {{writes memory that it reads or writes as another operand}}
  exec.einsum "ab,bc->ac"(%x, %x, %b) -> (%a, %s) then bias_gelu : (memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>) -> (memref<4x4xf32>, memref<4x4xf32>)
}

// -----

exec.function @epilogueReads(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {outs = 1 : i64, scratch_bytes = 64 : i64} {
  // expected-note @+1 {{the temporary; it was never written, or overwritten since}}
  %b = exec.temporary at 0 : memref<4xf32>
  // expected-error @+1 {{reads a temporary at [0, 16) that is not alive}}
  exec.einsum "ab,bc->ac"(%x, %x, %b) -> (%y) then bias : (memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>) -> memref<4x4xf32>
}

// -----

// Sums are read where they are added to, whether or not the product is.
exec.function @epilogueSums(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {outs = 1 : i64, scratch_bytes = 128 : i64} {
  %written = exec.temporary at 0 : memref<4xf32>
  // expected-note @+1 {{the temporary; it was never written, or overwritten since}}
  %added = exec.temporary at 64 : memref<4xf32>
  exec.einsum "ab,ac->bc"(%x, %x) -> (%y, %written) adds then sum_rhs : (memref<4x4xf32>, memref<4x4xf32>) -> (memref<4x4xf32>, memref<4xf32>)
  // expected-error @+1 {{reads a temporary at [64, 80) that is not alive}}
  exec.einsum "ab,ac->bc"(%x, %x) -> (%y, %added) then sum_rhs adds_sums : (memref<4x4xf32>, memref<4x4xf32>) -> (memref<4x4xf32>, memref<4xf32>)
}

// -----

// Tensors of a row stand at their starts, in front of the end of its shares, and nothing else stands there.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
    exec.buffer parameter @a at 0 : memref<16xf32> of f32 {pipe.share = #pipe.share<32 of @a from 0>}
    // expected-error @+1 {{lies at 64, expected 128, its place in the row of @a}}
    exec.buffer parameter @b at 64 : memref<16xf32> of f32 {pipe.share = #pipe.share<32 of @a from 32>}
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
    // expected-error @+1 {{ends at 320, behind the shares of its row, which end at 256}}
    exec.buffer parameter @a at 0 : memref<80xf32> of f32 {pipe.share = #pipe.share<32 of @a from 0>}
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
    // expected-error @+1 {{stands in the row of @gone, which has no place}}
    exec.buffer parameter @a at 0 : memref<16xf32> of f32 {pipe.share = #pipe.share<32 of @gone from 0>}
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
    // expected-error @+1 {{lies at [0, 256)}}
    exec.buffer parameter @a at 0 : memref<16xf32> of f32 {pipe.share = #pipe.share<32 of @a from 0>}
    // expected-note @+1 {{and overlaps what lies at [192, 256)}}
    exec.buffer parameter @b at 192 : memref<16xf32> of f32
  }
}

// -----

exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
  // expected-error @+1 {{is in @a, which is no slab of its program}}
  exec.buffer activation @a in @a at 0 : memref<16xf32> of f32
}

// -----

exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
  exec.slab @kept bytes 128 copies 1 at [0]
  // expected-note @+1 {{the other activation}}
  exec.buffer activation @a in @kept at 0 : memref<16xf32> of f32
  // expected-error @+1 {{overlaps another activation of its slab}}
  exec.buffer activation @b in @kept at 32 : memref<16xf32> of f32
}

// -----

exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
  exec.slab @kept bytes 128 copies 1 at [0]
  // expected-note @+1 {{the other activation}}
  exec.buffer activation @a in @kept at 0 : memref<16xf32> of f32
  // expected-error @+1 {{overlaps another activation of its slab}}
  exec.buffer activation @b in @kept at 0 : memref<16xf32> of f32
}

// -----

exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
  exec.slab @kept bytes 64 copies 1 at [0]
  // expected-error @+1 {{ends at 96 of a slab of 64 bytes}}
  exec.buffer activation @a in @kept at 32 : memref<16xf32> of f32
}

// -----

exec.program @stage0 index 0 slots [1] arena 512 zero 0 at 0 {
  // expected-error @+1 {{has no places, expected one for each microbatch or for the first of them}}
  exec.slab @kept bytes 64 copies 1 at []
}

// -----

// Two microbatches are alive at one place.
func.func private @kernel.zero(%x: memref<16xf32>) { return }
func.func private @kernel.read(%x: memref<16xf32>, %y: memref<16xf32>) { return }
exec.program @stage0 index 0 slots [2] arena 128 zero 0 at 0 attributes {order = ["F0", "F1", "B0", "B1"]} {
  exec.slab @kept bytes 64 copies 1 at [0]
  exec.buffer activation @a in @kept at 0 : memref<16xf32> of f32
  exec.buffer gradient @g at 64 : memref<16xf32> of f32
  exec.task forward scratch 0 at 128 {
    %a = exec.address @a : memref<16xf32>
    exec.launch @kernel.zero() -> (%a) : () -> memref<16xf32>
  }
  // expected-error @+1 {{of microbatch 0 reads 'a', which holds nothing for it; it was never written, or overwritten since}}
  exec.task backward scratch 0 at 128 {
    %a = exec.address @a : memref<16xf32>
    %g = exec.address @g : memref<16xf32>
    exec.launch @kernel.read(%a) -> (%g) : (memref<16xf32>) -> memref<16xf32>
  }
}

// -----

// So are two slabs, a part of one over a part of the other.
func.func private @kernel.zero(%x: memref<16xf32>) { return }
func.func private @kernel.read(%x: memref<16xf32>, %y: memref<16xf32>) { return }
exec.program @stage0 index 0 slots [1] arena 160 zero 0 at 0 attributes {order = ["F0", "B0"]} {
  exec.slab @first bytes 64 copies 1 at [0]
  exec.slab @second bytes 64 copies 1 at [32]
  exec.buffer activation @a in @first at 0 : memref<16xf32> of f32
  exec.buffer activation @b in @second at 0 : memref<16xf32> of f32
  exec.buffer gradient @g at 96 : memref<16xf32> of f32
  exec.task forward scratch 0 at 160 {
    %a = exec.address @a : memref<16xf32>
    %b = exec.address @b : memref<16xf32>
    exec.launch @kernel.zero() -> (%a) : () -> memref<16xf32>
    exec.launch @kernel.zero() -> (%b) : () -> memref<16xf32>
  }
  // expected-error @+1 {{of microbatch 0 reads 'a', which holds nothing for it; it was never written, or overwritten since}}
  exec.task backward scratch 0 at 160 {
    %a = exec.address @a : memref<16xf32>
    %g = exec.address @g : memref<16xf32>
    exec.launch @kernel.read(%a) -> (%g) : (memref<16xf32>) -> memref<16xf32>
  }
}

// -----

// What was sent may leave late: only a forward that takes its slot waits for that.
func.func private @kernel.zero(%x: memref<16xf32>) { return }
exec.program @stage0 index 0 slots [1] arena 64 zero 0 at 0 attributes {order = ["F0", "B0"]} {
  exec.slab @sent sends 0 bytes 64 copies 1 at [0]
  exec.slab @kept bytes 64 copies 1 at [0]
  exec.buffer activation @a in @sent at 0 : memref<16xf32> of f32
  exec.buffer activation @b in @kept at 0 : memref<16xf32> of f32
  exec.task forward scratch 0 at 64 {
    %a = exec.address @a : memref<16xf32>
    exec.launch @kernel.zero() -> (%a) : () -> memref<16xf32>
    exec.send %a to 1 channel 0 why "" : memref<16xf32>
  }
  // expected-error @+1 {{of microbatch 0 overwrites 'a' of microbatch 0, which may still have to be sent}}
  exec.task backward scratch 0 at 64 {
    %b = exec.address @b : memref<16xf32>
    exec.launch @kernel.zero() -> (%b) : () -> memref<16xf32>
  }
}

// -----

func.func private @kernel.zero(%x: memref<16xf32>) { return }
exec.program @stage0 index 0 slots [1] arena 64 zero 0 at 0 attributes {order = ["F0", "B0"]} {
  exec.slab @sent sends 0 bytes 64 copies 1 at [0]
  exec.buffer activation @a in @sent at 0 : memref<16xf32> of f32
  exec.task forward scratch 0 at 64 {
    %a = exec.address @a : memref<16xf32>
    exec.launch @kernel.zero() -> (%a) : () -> memref<16xf32>
    exec.send %a to 1 channel 0 why "" : memref<16xf32>
  }
  // expected-error @+1 {{of microbatch 0 writes 'a', which it may still have to send}}
  exec.task backward scratch 0 at 64 {
    %a = exec.address @a : memref<16xf32>
    exec.launch @kernel.zero() -> (%a) : () -> memref<16xf32>
  }
}

// -----

// A slot is the next microbatch's once its forward has waited, in the next step too.
func.func private @kernel.zero(%x: memref<16xf32>) { return }
exec.program @stage0 index 0 slots [1] arena 64 zero 0 at 0 attributes {order = ["F0", "F1"]} {
  exec.slab @sent sends 0 bytes 64 copies 1 at [0]
  exec.buffer activation @a in @sent at 0 : memref<16xf32> of f32
  exec.task forward scratch 0 at 64 {
    %a = exec.address @a : memref<16xf32>
    exec.launch @kernel.zero() -> (%a) : () -> memref<16xf32>
    exec.send %a to 1 channel 0 why "" : memref<16xf32>
  }
}
