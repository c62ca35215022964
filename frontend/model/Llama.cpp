#include "frontend/model/Llama.h"
#include "frontend/model/Rope.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::model;

Llama::Llama(ConfigFields &fields, int64_t sequence, const LlamaDefaults &defaults) {
  layerCount = fields.count("num_hidden_layers");
  layerPrefix = "model.layers";
  vocabulary = fields.count("vocab_size");
  width = fields.count("hidden_size");
  inner = fields.count("intermediate_size");
  heads = fields.count("num_attention_heads");
  keyHeads = fields.count("num_key_value_heads", heads);
  headWidth = fields.count("head_dim", std::max<int64_t>(width / heads, 1));
  epsilon = fields.number("rms_norm_eps", defaults.epsilon);
  tied = fields.flag("tie_word_embeddings", false);
  function = fields.text("hidden_act", "silu");
  if (!llvm::is_contained(activationNames(), function))
    fields.complain("hidden_act", "one of " + llvm::join(activationNames(), ", "));
  if (!fields.has("head_dim") && width % heads != 0)
    fields.complain("hidden_size", "a multiple of num_attention_heads, " + Twine(heads) + "; or give head_dim");
  if (headWidth % 2 != 0)
    fields.complain("head_dim", "an even number; rotary positions turn pairs");
  if (heads % keyHeads != 0)
    fields.complain("num_key_value_heads", "a divisor of num_attention_heads, " + Twine(heads));
  int64_t longest = fields.count("max_position_embeddings");
  if (sequence > longest)
    fields.complain("max_position_embeddings",
                    "at least the " + Twine(sequence) +
                        " of --seq; raise it if the model is to be trained on longer sequences");
  frequencies = readRopeFrequencies(fields, defaults.modelType, headWidth, defaults.theta);
  fields.withoutDropout("attention_dropout", 0);
}

std::vector<Parameter> Llama::linearParameters(StringRef name, int64_t out, int64_t in, bool bias) const {
  std::vector<Parameter> list{{(name + ".weight").str(), {out, in}}};
  if (bias)
    list.push_back({(name + ".bias").str(), {out}});
  return list;
}

std::vector<Parameter> Llama::parametersBefore() const { return {{"model.embed_tokens.weight", {vocabulary, width}}}; }

std::vector<Parameter> Llama::layerParameters() const {
  std::vector<Parameter> list;
  auto append = [&](StringRef name, int64_t out, int64_t in) {
    llvm::append_range(list, linearParameters(name, out, in, attentionBias));
  };
  append("self_attn.q_proj", heads * headWidth, width);
  append("self_attn.k_proj", keyHeads * headWidth, width);
  append("self_attn.v_proj", keyHeads * headWidth, width);
  append("self_attn.o_proj", width, heads * headWidth);
  llvm::append_range(list, feedForwardParameters());
  list.push_back({"input_layernorm.weight", {width}});
  list.push_back({"post_attention_layernorm.weight", {width}});
  return list;
}

std::vector<Parameter> Llama::feedForwardParameters() const {
  std::vector<Parameter> list;
  auto append = [&](StringRef name, int64_t out, int64_t in) {
    llvm::append_range(list, linearParameters(name, out, in, mlpBias));
  };
  append("mlp.gate_proj", inner, width);
  append("mlp.up_proj", inner, width);
  append("mlp.down_proj", width, inner);
  return list;
}

std::vector<Parameter> Llama::parametersBehind() const {
  std::vector<Parameter> list{{"model.norm.weight", {width}}};
  if (!tied)
    list.push_back({"lm_head.weight", {vocabulary, width}});
  return list;
}

std::vector<Value> Llama::sharedValues(TensorBuilder &b, const Workload &load) const {
  return ropeTables(b, frequencies, load.sequence);
}

std::vector<Value> Llama::embed(TensorBuilder &b, const Weights &weights, Value ids) const {
  TensorBuilder::Scope scope(b, "model.embed_tokens");
  return {b.takeRows(weights["model.embed_tokens.weight"], ids)};
}

std::vector<Value> Llama::layer(TensorBuilder &b, const Weights &weights, ArrayRef<Value> carried,
                                ArrayRef<Value> shared) const {
  std::vector<Value> next(carried);
  Value &x = next.front();
  x = b.add(x, attention(b, weights, norm(b, weights, x, "input_layernorm"), shared));
  Value half = feedForward(b, weights, norm(b, weights, x, "post_attention_layernorm"), next);
  x = b.add(x, half);
  return next;
}

Value Llama::logits(TensorBuilder &b, const Weights &weights, Value activations) const {
  Value x = norm(b, weights, activations, "model.norm");
  TensorBuilder::Scope scope(b, "lm_head");
  return b.dot(x, weights[tied ? "model.embed_tokens.weight" : "lm_head.weight"], {{}, {}, {2}, {1}}, b.f32());
}

Value Llama::norm(TensorBuilder &b, const Weights &weights, Value x, StringRef name) const {
  TensorBuilder::Scope scope(b, name);
  return rmsNorm(b, x, weights[(name + ".weight").str()], epsilon);
}

Value Llama::project(TensorBuilder &b, const Weights &weights, Value x, StringRef name) const {
  TensorBuilder::Scope scope(b, name);
  return linear(b, x, weights[(name + ".weight").str()], weights[(name + ".bias").str()]);
}

Value Llama::attention(TensorBuilder &b, const Weights &weights, Value x, ArrayRef<Value> tables) const {
  auto split = [&](StringRef name, int64_t count) {
    Value projected = project(b, weights, x, name);
    return b.reshape(projected, {typeOf(x).getDimSize(0), typeOf(x).getDimSize(1), count, headWidth});
  };
  TensorBuilder::Scope scope(b, "self_attn");
  Value q = rotate(b, split("self_attn.q_proj", heads), tables);
  Value k = rotate(b, split("self_attn.k_proj", keyHeads), tables);
  Value v = split("self_attn.v_proj", keyHeads);
  return project(b, weights, causalAttention(b, q, k, v), "self_attn.o_proj");
}

Value Llama::feedForward(TensorBuilder &b, const Weights &weights, Value x, std::vector<Value> &) const {
  TensorBuilder::Scope scope(b, "mlp.act_fn");
  Value gate = activation(b, function, project(b, weights, x, "mlp.gate_proj"));
  return project(b, weights, b.mul(gate, project(b, weights, x, "mlp.up_proj")), "mlp.down_proj");
}

namespace {
class PlainLlama : public Llama {
public:
  PlainLlama(ConfigFields &fields, int64_t sequence) : Llama(fields, sequence, {"llama", 10000, 1e-6}) {
    attentionBias = fields.flag("attention_bias", false);
    mlpBias = fields.flag("mlp_bias", false);
    fields.mustBe("pretraining_tp", 1, "products are not cut; --mesh of p3dc cuts them");
  }
};
} // namespace

std::unique_ptr<Decoder> model::readLlama(ConfigFields &fields, int64_t sequence) {
  return std::make_unique<PlainLlama>(fields, sequence);
}

void model::describeLlama(const CheckpointSizes &sizes, llvm::json::Object &config) {
  StringRef attention = "model.layers.0.self_attn.", query = "model.layers.0.self_attn.q_proj.weight";
  config["vocab_size"] = sizes.size("model.embed_tokens.weight", 0);
  config["hidden_size"] = sizes.size("model.embed_tokens.weight", 1);
  config["intermediate_size"] = sizes.size("model.layers.0.mlp.gate_proj.weight", 0);
  config["attention_bias"] = sizes.has((attention + "q_proj.bias").str());
  config["mlp_bias"] = sizes.has("model.layers.0.mlp.gate_proj.bias");
  // Shapes depend on the products of heads and their width only: all keys are taken for one head, of an even width.
  int64_t keys = std::max<int64_t>(sizes.size((attention + "k_proj.weight").str(), 0) / 2 * 2, 2);
  config["num_key_value_heads"] = 1;
  config["num_attention_heads"] = std::max<int64_t>(sizes.size(query, 0) / keys, 1);
  config["head_dim"] = keys;
  config["max_position_embeddings"] = 1;
}
