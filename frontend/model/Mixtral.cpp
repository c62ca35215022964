// Mixtral: Llama with a mixture of experts for an MLP. Every expert computes every token and the router's weights,
// which are 0 for those not chosen, sum the results: no token is dropped, as in Hugging Face, and shapes are static.
#include "frontend/model/Llama.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::model;

namespace {
class Mixtral : public Llama {
public:
  Mixtral(ConfigFields &fields, int64_t sequence) : Llama(fields, sequence, {"mixtral", 1e6, 1e-5}) {
    // Hugging Face takes 8 where it is absent and the number of query heads where it is null.
    if (!fields.has("num_key_value_heads"))
      fields.count("num_key_value_heads");
    experts = fields.count("num_local_experts", 8);
    chosen = fields.count("num_experts_per_tok", 2);
    if (chosen > experts)
      fields.complain("num_experts_per_tok", "at most num_local_experts, " + Twine(experts));
    if (fields.has("sliding_window") && fields.count("sliding_window") < sequence)
      fields.complain("sliding_window",
                      "null, or at least the " + Twine(sequence) + " of --seq; attention sees all positions before");
    fields.ignore({"sliding_window"}); // null is how Hugging Face writes that there is none
    balances = fields.flag("output_router_logits", false);
    balanceWeight = fields.number("router_aux_loss_coef", 0.001);
    fields.mustBe("router_jitter_noise", 0.0, "routing has no random numbers");
  }

  std::vector<Value> embed(TensorBuilder &b, const Weights &weights, Value ids) const override {
    std::vector<Value> carried = Llama::embed(b, weights, ids);
    if (balances)
      carried.insert(carried.end(), 2, b.constant(0, b.f32(), {experts}));
    return carried;
  }

  /// That of Hugging Face with `output_router_logits`: counts and probabilities are means over all tokens of all
  /// layers.
  Value auxiliaryLoss(TensorBuilder &b, ArrayRef<Value> carried) const override {
    if (!balances)
      return {};
    TensorBuilder::Scope scope(b, "load_balancing_loss");
    auto shape = typeOf(carried.front()).getShape();
    double rows = double(shape[0]) * shape[1] * layerCount;
    auto mean = [&](Value sum) { return b.binary<stablehlo::DivOp>(sum, b.splatLike(sum, rows)); };
    Value overlap = b.sum(b.mul(mean(carried[1]), mean(carried[2])), {0});
    return b.scale(overlap, balanceWeight * experts);
  }

  /// Each expert's matrices are tensors of their own, under the names of the model's first code: w1 is the gate, w3 goes up, w2 down.
  std::vector<Parameter> checkpointParts(const Parameter &parameter) const override {
    auto ofExperts = [&](std::initializer_list<std::pair<StringRef, Shape>> matrices) {
      std::vector<Parameter> parts;
      for (int64_t expert = 0; expert < experts; ++expert)
        for (const auto &[name, shape] : matrices)
          parts.push_back({("block_sparse_moe.experts." + Twine(expert) + "." + name + ".weight").str(), shape});
      return parts;
    };
    if (parameter.name == "mlp.gate.weight")
      return {{"block_sparse_moe.gate.weight", parameter.shape}};
    if (parameter.name == "mlp.experts.gate_up_proj")
      return ofExperts({{"w1", {inner, width}}, {"w3", {inner, width}}});
    if (parameter.name == "mlp.experts.down_proj")
      return ofExperts({{"w2", {width, inner}}});
    return {parameter};
  }

protected:
  std::vector<Parameter> feedForwardParameters() const override {
    return {{"mlp.gate.weight", {experts, width}},
            {"mlp.experts.gate_up_proj", {experts, 2 * inner, width}},
            {"mlp.experts.down_proj", {experts, width, inner}}};
  }

  Value feedForward(TensorBuilder &b, const Weights &weights, Value x, std::vector<Value> &carried) const override {
    Value routing = route(b, weights, x, carried);
    TensorBuilder::Scope scope(b, "mlp.experts");
    Value gateUp = weights["mlp.experts.gate_up_proj"];
    auto half = [&](int64_t i) { // [b, s, e, inner]
      return b.dot(x, b.slice(gateUp, 1, i * inner, (i + 1) * inner), {{}, {}, {2}, {2}});
    };
    Value hidden = b.mul(activation(b, function, half(0)), half(1));
    hidden = b.mul(hidden, b.broadcast(routing, typeOf(hidden).getShape(), {0, 1, 2}));
    return b.dot(hidden, weights["mlp.experts.down_proj"], {{}, {}, {2, 3}, {0, 2}});
  }

private:
  /// The weight of each expert for each token, [b, s, e].
  Value route(TensorBuilder &b, const Weights &weights, Value x, std::vector<Value> &carried) const {
    TensorBuilder::Scope scope(b, "mlp.gate");
    Value probabilities = softmax(b, b.convert(linear(b, x, weights["mlp.gate.weight"], {}), b.f32()));
    Shape top(typeOf(probabilities).getShape());
    top.back() = chosen;
    auto topK =
        b.ops().create<chlo::TopKOp>(b.loc(), typeOf(probabilities).clone(top), RankedTensorType::get(top, b.i32()),
                                     probabilities, b.ops().getI64IntegerAttr(chosen), BoolAttr());
    Value sum = b.sum(topK.getValues(), {2});
    Value shares = b.binary<stablehlo::DivOp>(topK.getValues(), b.broadcastRows(sum, topK.getValues()));
    // [b, s, k, e]: whether the k-th choice of a token is expert e.
    Shape each = top;
    each.push_back(experts);
    Value isChosen = b.compare(stablehlo::ComparisonDirection::EQ, b.broadcast(topK.getIndices(), each, {0, 1, 2}),
                               b.iota(each, 3, b.i32()));
    Value choice = b.convert(isChosen, b.f32());
    if (balances) {
      carried[1] = b.add(carried[1], b.sum(choice, {0, 1, 2}));
      carried[2] = b.add(carried[2], b.sum(probabilities, {0, 1}));
    }
    Value spread = b.dot(choice, shares, {{0, 1}, {0, 1}, {2}, {2}});
    return b.convert(spread, typeOf(x).getElementType());
  }

  int64_t experts, chosen;
  bool balances;
  double balanceWeight;
};
} // namespace

std::unique_ptr<Decoder> model::readMixtral(ConfigFields &fields, int64_t sequence) {
  return std::make_unique<Mixtral>(fields, sequence);
}

void model::describeMixtral(const CheckpointSizes &sizes, llvm::json::Object &config) {
  describeLlama(sizes, config);
  config.erase("attention_bias");
  config.erase("mlp_bias");
  std::string layer = "model.layers.0.";
  bool isFused = sizes.has(layer + "mlp.experts.down_proj");
  config["intermediate_size"] = isFused ? sizes.size(layer + "mlp.experts.down_proj", 2)
                                        : sizes.size(layer + "block_sparse_moe.experts.0.w1.weight", 0);
  config["num_local_experts"] =
      sizes.size(layer + (isFused ? "mlp.gate.weight" : "block_sparse_moe.gate.weight"), 0);
  config["num_experts_per_tok"] = 1;
}
