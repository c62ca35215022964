// Llama: rotary positions, RMSNorm before each half, grouped keys and values, a gated MLP. Its weights are Linear's:
// [out, in].
#pragma once

#include "frontend/model/Families.h"
#include "frontend/model/Parts.h"

namespace p3d::model {

/// What sets the members of the family apart where a config.json is silent.
struct LlamaDefaults {
  llvm::StringLiteral modelType;
  double theta, epsilon;
};

class Llama : public Decoder {
public:
  Llama(ConfigFields &fields, int64_t sequence, const LlamaDefaults &defaults);

  std::vector<Parameter> parametersBefore() const override;
  std::vector<Parameter> layerParameters() const override;
  std::vector<Parameter> parametersBehind() const override;
  std::vector<mlir::Value> sharedValues(TensorBuilder &b, const Workload &load) const override;
  std::vector<mlir::Value> embed(TensorBuilder &b, const Weights &weights, mlir::Value ids) const override;
  std::vector<mlir::Value> layer(TensorBuilder &b, const Weights &weights, llvm::ArrayRef<mlir::Value> carried,
                                 llvm::ArrayRef<mlir::Value> shared) const override;
  mlir::Value logits(TensorBuilder &b, const Weights &weights, mlir::Value activations) const override;

protected:
  virtual std::vector<Parameter> feedForwardParameters() const;
  /// The second half of a layer, without its norm and the sum; may add to what is `carried` behind the activations.
  virtual mlir::Value feedForward(TensorBuilder &b, const Weights &weights, mlir::Value x,
                                  std::vector<mlir::Value> &carried) const;
  /// The parameters of a Linear, with a bias or without.
  std::vector<Parameter> linearParameters(llvm::StringRef name, int64_t out, int64_t in, bool bias) const;
  mlir::Value project(TensorBuilder &b, const Weights &weights, mlir::Value x, llvm::StringRef name) const;

  int64_t vocabulary, width, inner, heads, keyHeads, headWidth;
  double epsilon;
  bool tied, attentionBias = false, mlpBias = false;
  std::string function;

private:
  mlir::Value norm(TensorBuilder &b, const Weights &weights, mlir::Value x, llvm::StringRef name) const;
  mlir::Value attention(TensorBuilder &b, const Weights &weights, mlir::Value x,
                        llvm::ArrayRef<mlir::Value> tables) const;

  std::vector<float> frequencies;
};

} // namespace p3d::model
