// Shardings that cannot be read.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{'ep' is no axis; expected tp, dp, pp, mb, tp_major or tp_minor}}
func.func @axis(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{ep:2}]>}) {
  return
}

// -----

// expected-error @+1 {{'mean' is no reduction; expected sum, max, min, prod, and, or}}
func.func @reduction(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{}] unreduced{dp} mean>}) {
  return
}
