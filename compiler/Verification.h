// The comparison of what ranks computed with the double-precision meaning of the training step.
#pragma once

#include "compiler/ProgramTensors.h"
#include "compiler/Tolerances.h"

namespace p3d {

/// The tolerances of `program`: those of f32, or those of 16-bit floats if it or a block has a value of such a type.
Tolerances tolerancesOf(graph::ProgramOp program);

/// A tensor's error beside what it may be.
struct Difference {
  std::string what;
  double error, limit;
  /// False for an error that is NaN too.
  bool isFine() const { return error <= limit; }
};

/// |found - expected| / |expected| in the Frobenius norm, or relative to `smallestNorm` where the expected one is below it. `found` may be larger, its surplus is
/// padding. Infinities and NaN have to agree in place and sign. Infinite for other shapes.
double relativeError(const graph::Tensor &found, const graph::Tensor &expected, double smallestNorm = 0);

/// What was found and what is right of the scalar results, in the order of `found`, and of all gradients, the worst first.
std::vector<Difference> compareResults(const NamedTensors &expected, const NamedTensors &found, const Tolerances &tolerances);

/// Names the first value inside the step that differs: interprets `program`, the step with the blocks of the ranks' programs, on `inputs`, and compares what the
/// calls leave for the backward pass with the tensors of `values` (<call>.<result>). Where none differs, the first backward operation, in order of
/// execution, whose gradient in `found` differs. Empty if there is nothing to name.
llvm::Expected<std::string> findFirstDifference(graph::ProgramOp program, llvm::ArrayRef<graph::Tensor> inputs, const TensorFile &values,
                                                const NamedTensors &found, const Tolerances &tolerances);

} // namespace p3d
