// The parts that decoders have in common. Sums of many terms, softmax and norms' statistics are f32 in every type.
#pragma once

#include "frontend/model/Decoder.h"

namespace p3d::model {

/// The activation functions by the names of Hugging Face.
llvm::ArrayRef<llvm::StringLiteral> activationNames();
/// `name` has to be one of `activationNames`.
mlir::Value activation(TensorBuilder &b, llvm::StringRef name, mlir::Value x);

mlir::Value layerNorm(TensorBuilder &b, mlir::Value x, mlir::Value scale, mlir::Value bias, double epsilon);
mlir::Value rmsNorm(TensorBuilder &b, mlir::Value x, mlir::Value scale, double epsilon);

/// x [.., in] times a weight [out, in], as torch.nn.Linear keeps it, plus `bias` if there is one.
mlir::Value linear(TensorBuilder &b, mlir::Value x, mlir::Value weight, mlir::Value bias);

mlir::Value softmax(TensorBuilder &b, mlir::Value x);

/// Causal attention of q [b, s, h, d] to k and v [b, s, g, d], where h is a multiple of g: [b, s, h * d].
mlir::Value causalAttention(TensorBuilder &b, mlir::Value q, mlir::Value k, mlir::Value v);

/// Mean cross entropy of logits [b, s, v] with the labels [b, s] of the next position; labels of -100 do not count.
mlir::Value nextTokenLoss(TensorBuilder &b, mlir::Value logits, mlir::Value labels);

} // namespace p3d::model
