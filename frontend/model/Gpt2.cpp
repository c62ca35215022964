// GPT-2: learned positions, LayerNorm before each half, one projection for q, k and v, an MLP with one activation
// function. Its weights are Conv1D's: [in, out].
#include "frontend/model/Families.h"
#include "frontend/model/Parts.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::model;

namespace {
class Gpt2 : public Decoder {
public:
  Gpt2(ConfigFields &fields, int64_t sequence) {
    vocabulary = fields.count("vocab_size");
    positions = fields.count("n_positions");
    width = fields.count("n_embd");
    heads = fields.count("n_head");
    inner = fields.count("n_inner", 4 * width);
    epsilon = fields.number("layer_norm_epsilon", 1e-5);
    tied = fields.flag("tie_word_embeddings", true);
    layerCount = fields.count("n_layer");
    layerPrefix = "transformer.h";
    function = fields.text("activation_function", "gelu_new");
    if (!llvm::is_contained(activationNames(), function))
      fields.complain("activation_function", "one of " + llvm::join(activationNames(), ", "));
    if (width % heads != 0)
      fields.complain("n_embd", "a multiple of n_head, " + Twine(heads));
    if (sequence > positions)
      fields.complain("n_positions",
                      "at least the " + Twine(sequence) + " of --seq; positions are a parameter of this size");
    for (StringRef name : {"resid_pdrop", "embd_pdrop", "attn_pdrop"})
      fields.withoutDropout(name, 0.1);
    fields.mustBe("scale_attn_weights", true, "scores are divided by the root of the head's width");
    fields.mustBe("scale_attn_by_inverse_layer_idx", false, "all layers have to be alike");
    fields.mustBe("reorder_and_upcast_attn", false, "scores are scaled and summed in f32 in any case");
    fields.mustBe("add_cross_attention", false, "the model is a decoder only");
    // Of the multiple-choice head, and of old versions.
    fields.ignore({"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
                   "summary_first_dropout", "n_ctx"});
  }

  std::vector<Parameter> parametersBefore() const override {
    return {{"transformer.wte.weight", {vocabulary, width}}, {"transformer.wpe.weight", {positions, width}}};
  }

  std::vector<Parameter> layerParameters() const override {
    return {{"ln_1.weight", {width}},
            {"ln_1.bias", {width}},
            {"attn.c_attn.weight", {width, 3 * width}},
            {"attn.c_attn.bias", {3 * width}},
            {"attn.c_proj.weight", {width, width}},
            {"attn.c_proj.bias", {width}},
            {"ln_2.weight", {width}},
            {"ln_2.bias", {width}},
            {"mlp.c_fc.weight", {width, inner}},
            {"mlp.c_fc.bias", {inner}},
            {"mlp.c_proj.weight", {inner, width}},
            {"mlp.c_proj.bias", {width}}};
  }

  std::vector<Parameter> parametersBehind() const override {
    std::vector<Parameter> list{{"transformer.ln_f.weight", {width}}, {"transformer.ln_f.bias", {width}}};
    if (!tied)
      list.push_back({"lm_head.weight", {vocabulary, width}});
    return list;
  }

  std::vector<Value> embed(TensorBuilder &b, const Weights &weights, Value ids) const override {
    TensorBuilder::Scope scope(b, "transformer.wte");
    Value words = b.takeRows(weights["transformer.wte.weight"], ids);
    Value table = weights["transformer.wpe.weight"];
    int64_t sequence = typeOf(ids).getDimSize(1);
    if (sequence < positions)
      table = b.slice(table, 0, 0, sequence);
    return {b.add(words, b.broadcast(table, typeOf(words).getShape(), {1, 2}))};
  }

  std::vector<Value> layer(TensorBuilder &b, const Weights &weights, ArrayRef<Value> carried,
                           ArrayRef<Value>) const override {
    Value x = carried.front();
    x = b.add(x, attention(b, weights, norm(b, weights, x, "ln_1")));
    return {b.add(x, feedForward(b, weights, norm(b, weights, x, "ln_2")))};
  }

  Value logits(TensorBuilder &b, const Weights &weights, Value activations) const override {
    Value x = norm(b, weights, activations, "transformer.ln_f");
    TensorBuilder::Scope scope(b, "lm_head");
    return b.dot(x, weights[tied ? "transformer.wte.weight" : "lm_head.weight"], {{}, {}, {2}, {1}}, b.f32());
  }

private:
  Value norm(TensorBuilder &b, const Weights &weights, Value x, StringRef name) const {
    TensorBuilder::Scope scope(b, name);
    return layerNorm(b, x, weights[(name + ".weight").str()], weights[(name + ".bias").str()], epsilon);
  }

  Value conv1d(TensorBuilder &b, const Weights &weights, Value x, StringRef name) const {
    TensorBuilder::Scope scope(b, name);
    Value product = b.dot(x, weights[(name + ".weight").str()], {{}, {}, {2}, {0}});
    return b.add(product, b.broadcastVector(weights[(name + ".bias").str()], product));
  }

  Value attention(TensorBuilder &b, const Weights &weights, Value x) const {
    Value qkv = conv1d(b, weights, x, "attn.c_attn");
    TensorBuilder::Scope scope(b, "attn");
    auto part = [&](int64_t i) {
      auto shape = typeOf(x).getShape();
      return b.reshape(b.slice(qkv, 2, i * width, (i + 1) * width), {shape[0], shape[1], heads, width / heads});
    };
    return conv1d(b, weights, causalAttention(b, part(0), part(1), part(2)), "attn.c_proj");
  }

  Value feedForward(TensorBuilder &b, const Weights &weights, Value x) const {
    x = conv1d(b, weights, x, "mlp.c_fc");
    TensorBuilder::Scope scope(b, "mlp.act");
    return conv1d(b, weights, activation(b, function, x), "mlp.c_proj");
  }

  int64_t vocabulary, positions, width, heads, inner;
  double epsilon;
  bool tied;
  std::string function;
};
} // namespace

std::unique_ptr<Decoder> model::readGpt2(ConfigFields &fields, int64_t sequence) {
  return std::make_unique<Gpt2>(fields, sequence);
}

void model::describeGpt2(const CheckpointSizes &sizes, llvm::json::Object &config) {
  config["vocab_size"] = sizes.size("transformer.wte.weight", 0);
  config["n_embd"] = sizes.size("transformer.wte.weight", 1);
  config["n_positions"] = sizes.size("transformer.wpe.weight", 0);
  config["n_inner"] = sizes.size("transformer.h.0.mlp.c_fc.bias", 0);
  config["n_head"] = 1; // shapes do not depend on it
}
