// Streams that touch the same memory in no order are rejected, whoever placed the events.
// RUN: p3dc-opt %s -p3d-verify-streams -split-input-file -verify-diagnostics

exec.function @early(%x: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  // expected-error @below {{on stream tp may begin before the computation ahead of its function is done; it has to wait for an event of stream compute}}
  exec.all_reduce sum %x over tp 0 of f32 why "" : memref<16xf32>
}

// -----

exec.function @unknown(%x: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  // expected-error @below {{waits for event 3, which nothing before it records}}
  exec.wait 3 on tp
}

// -----

func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }

// Computation that reads before the sum is complete.
exec.function @unordered(%x: memref<16xf32>, %y: memref<16xf32>) attributes {outs = 2 : i64, scratch_bytes = 0 : i64} {
  exec.record 0 on compute
  exec.wait 0 on tp
  // expected-note @below {{the other command}}
  exec.all_reduce sum %x over tp 0 of f32 why "" : memref<16xf32>
  exec.record 1 on tp
  // expected-error @below {{reads on stream compute what a command on stream tp writes, in no order; an exec.wait for that command is missing}}
  exec.launch @kernel.neg(%x) -> (%y) : (memref<16xf32>) -> memref<16xf32>
  exec.wait 1 on compute
}

// -----

func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }

// An event from before the command that matters.
exec.function @stale(%x: memref<16xf32>, %y: memref<16xf32>) attributes {outs = 2 : i64, scratch_bytes = 0 : i64} {
  exec.record 0 on compute
  // expected-note @below {{the other command}}
  exec.launch @kernel.neg(%y) -> (%x) : (memref<16xf32>) -> memref<16xf32>
  exec.wait 0 on tp
  // expected-error @below {{reads on stream tp what a command on stream compute writes, in no order}}
  exec.all_gather (%x) -> (%y) dim 0 over tp of f32 why "" : (memref<16xf32>) -> memref<16xf32>
}

// -----

exec.function @left(%x: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  exec.record 0 on compute
  exec.wait 0 on tp
  // expected-error @below {{on stream tp may go on after the end of its function; computation has to wait for it}}
  exec.all_reduce sum %x over tp 0 of f32 why "" : memref<16xf32>
}

// -----

func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }

// A reduction that waits for the first of two backward commands that add to its buffer.
exec.program @stage0 index 0 slots [1] arena 128 zero 0 at 0 attributes {order = ["B0", "B1", "S"]} {
  exec.buffer gradient @g at 0 : memref<16xf32> of f32
  exec.buffer input @x at 64 : memref<16xf32> of f32
  exec.task backward scratch 0 at 128 {
    %g = exec.address @g : memref<16xf32>
    %x = exec.address @x : memref<16xf32>
    exec.launch @kernel.neg(%x) -> (%g) adds : (memref<16xf32>) -> memref<16xf32>
    exec.record 0 on compute
    // expected-note @below {{the other command}}
    exec.launch @kernel.neg(%x) -> (%g) adds : (memref<16xf32>) -> memref<16xf32>
  }
  exec.task synchronize scratch 0 at 128 {
    %g = exec.address @g : memref<16xf32>
    exec.wait 0 on dp
    // expected-error @below {{reads on stream dp what a command on stream compute writes, in no order; an exec.wait for that command is missing}}
    exec.all_reduce sum %g over dp 0 of f32 why "" : memref<16xf32>
    exec.record 1 on dp
    exec.wait 1 on compute
  }
}

// -----

// At the end of the step computation, and the update with it, has to be behind all.
exec.program @stage0 index 0 slots [1] arena 128 zero 0 at 0 attributes {order = ["S"]} {
  exec.buffer gradient @g at 0 : memref<16xf32> of f32
  exec.task synchronize scratch 0 at 128 {
    %g = exec.address @g : memref<16xf32>
    // expected-error @below {{on stream dp may go on after the end of its program; computation has to wait for it}}
    exec.all_reduce sum %g over dp 0 of f32 why "" : memref<16xf32>
  }
}

// -----

// Slots are apart, and what was sent from one is behind the next task that uses it.
exec.program @stage0 index 0 slots [2] arena 128 zero 0 at 0 attributes {order = ["F0", "F1", "F2"]} {
  exec.slab @sent_forward sends 0 bytes 64 copies 2 at [0, 64]
  exec.buffer activation @x in @sent_forward at 0 : memref<16xf32> of f32
  exec.task forward scratch 0 at 128 {
    %x = exec.address @x : memref<16xf32>
    exec.launch @kernel.zero() -> (%x) : () -> memref<16xf32>
    exec.record 0 on compute
    exec.wait 0 on forward
    exec.send %x to 1 channel 0 why "" : memref<16xf32>
  }
}
func.func private @kernel.zero(%x: memref<16xf32>) { return }

// -----

// A wait for an event of the microbatch before passes the first time, and orders the second.
func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }
exec.program @ahead index 1 slots [1] arena 128 zero 0 at 0 attributes {order = ["B0", "B1"]} {
  exec.buffer receive @in at 0 : memref<16xf32> of f32
  exec.buffer complete @x at 64 : memref<16xf32> of f32
  exec.task backward scratch 0 at 128 {
    %in = exec.address @in : memref<16xf32>
    %x = exec.address @x : memref<16xf32>
    exec.wait 0 on backward
    exec.recv %in from 2 channel 0 why "" : memref<16xf32>
    exec.record 1 on backward
    exec.wait 1 on compute
    exec.launch @kernel.neg(%in) -> (%x) : (memref<16xf32>) -> memref<16xf32>
    exec.record 0 on compute
  }
}

// -----

// Without the wait the second microbatch overwrites what the first still reads.
func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }
exec.program @overwritten index 1 slots [1] arena 128 zero 0 at 0 attributes {order = ["B0", "B1"]} {
  exec.buffer receive @in at 0 : memref<16xf32> of f32
  exec.buffer complete @x at 64 : memref<16xf32> of f32
  exec.task backward scratch 0 at 128 {
    %in = exec.address @in : memref<16xf32>
    %x = exec.address @x : memref<16xf32>
    // expected-error @below {{writes on stream backward what a command on stream compute reads, in no order; an exec.wait for that command is missing}}
    exec.recv %in from 2 channel 0 why "" : memref<16xf32>
    exec.record 1 on backward
    exec.wait 1 on compute
    // expected-note @below {{the other command}}
    exec.launch @kernel.neg(%in) -> (%x) : (memref<16xf32>) -> memref<16xf32>
  }
}

// -----

// A bias that is not complete when a product takes it.
exec.function @epilogue(%x: memref<4x4xf32>, %b: memref<4xf32>, %y: memref<4x4xf32>) attributes {outs = 2 : i64, scratch_bytes = 0 : i64} {
  exec.record 0 on compute
  exec.wait 0 on tp
  // expected-note @below {{the other command}}
  exec.all_reduce sum %b over tp 0 of f32 why "" : memref<4xf32>
  exec.record 1 on tp
  // expected-error @below {{reads on stream compute what a command on stream tp writes, in no order; an exec.wait for that command is missing}}
  exec.einsum "ab,bc->ac"(%x, %x, %b) -> (%y) then bias : (memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>) -> memref<4x4xf32>
  exec.wait 1 on compute
}

// -----

// What lies at the same place at another time is the same memory: @y overwrites what is still sent of @x.
func.func private @kernel.zero(%x: memref<16xf32>) { return }
exec.program @aliased index 0 slots [1] arena 64 zero 0 at 0 attributes {order = ["F0", "B0"]} {
  exec.slab @sent_forward sends 0 bytes 64 copies 1 at [0]
  exec.slab @kept_backward bytes 64 copies 0 at [0]
  exec.buffer activation @x in @sent_forward at 0 : memref<16xf32> of f32
  exec.buffer activation @y in @kept_backward at 0 : memref<16xf32> of f32
  exec.task forward scratch 0 at 64 {
    %x = exec.address @x : memref<16xf32>
    exec.launch @kernel.zero() -> (%x) : () -> memref<16xf32>
    exec.record 0 on compute
    exec.wait 0 on forward
    // expected-note @below {{the other command}}
    exec.send %x to 1 channel 0 why "" : memref<16xf32>
  }
  exec.task backward scratch 0 at 64 {
    %y = exec.address @y : memref<16xf32>
    // expected-error @below {{writes on stream compute what a command on stream forward reads, in no order; an exec.wait for that command is missing}}
    exec.launch @kernel.zero() -> (%y) : () -> memref<16xf32>
  }
}
