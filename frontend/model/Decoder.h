// A decoder-only language model as its family defines it: parameters under the names and in the layouts of Hugging
// Face, and parts in StableHLO.
#pragma once

#include "frontend/model/TensorBuilder.h"
#include "llvm/ADT/StringMap.h"
#include <memory>

namespace p3d::model {

struct Parameter {
  std::string name; ///< within its layer, or whole
  Shape shape;
};

/// The values of parameters by name.
class Weights {
public:
  void add(llvm::StringRef name, mlir::Value value) { values[name] = value; }
  mlir::Value operator[](llvm::StringRef name) const { return values.lookup(name); }

private:
  llvm::StringMap<mlir::Value> values;
};

/// What a module is written for.
struct Workload {
  int64_t batch = 1, sequence = 1;
  mlir::Type element; ///< of parameters and activations
};

class Decoder {
public:
  virtual ~Decoder() = default;

  int64_t layerCount = 0;
  std::string layerPrefix; ///< "model.layers": that layer i has its parameters under "model.layers.i."

  virtual std::vector<Parameter> parametersBefore() const = 0;
  virtual std::vector<Parameter> layerParameters() const = 0;
  virtual std::vector<Parameter> parametersBehind() const = 0;
  /// How checkpoints keep a layer's parameter: tensors of the layer that are parts of it, the first of its elements first.
  virtual std::vector<Parameter> checkpointParts(const Parameter &parameter) const { return {parameter}; }

  /// What all layers read beside their own parameters.
  virtual std::vector<mlir::Value> sharedValues(TensorBuilder &, const Workload &) const { return {}; }
  /// What goes from layer to layer: the activations [b, s, h], then whatever the layers sum up.
  virtual std::vector<mlir::Value> embed(TensorBuilder &, const Weights &, mlir::Value ids) const = 0;
  virtual std::vector<mlir::Value> layer(TensorBuilder &, const Weights &, llvm::ArrayRef<mlir::Value> carried,
                                         llvm::ArrayRef<mlir::Value> shared) const = 0;
  /// f32 logits [b, s, vocabulary].
  virtual mlir::Value logits(TensorBuilder &, const Weights &, mlir::Value activations) const = 0;
  /// What the loss has beside the cross entropy; null if nothing.
  virtual mlir::Value auxiliaryLoss(TensorBuilder &, llvm::ArrayRef<mlir::Value>) const { return {}; }
};

} // namespace p3d::model
