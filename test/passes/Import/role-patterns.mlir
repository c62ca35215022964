// What a user says of roles must be readable and say one thing.
// RUN: not p3dc-opt %s -p3d-convert-to-graph='params=(' 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not p3dc-opt %s -p3d-convert-to-graph='params=w inputs=arg' 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not p3dc-opt %s -p3d-convert-to-graph 2>&1 | FileCheck %s --check-prefix=ROLE

// REGEX: error: --params='(' is no regular expression: parentheses not balanced
// BOTH: argument 'arg.w' matches both --params and --inputs
// ROLE: argument 'x' has the role 'weight'; expected param, frozen, input, buffer or key
func.func @main(%w: tensor<4xf32> loc("arg['w']"), %x: tensor<4xf32> {p3d.role = "weight"} loc("x")) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}
