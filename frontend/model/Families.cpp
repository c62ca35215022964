#include "frontend/model/Families.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d::model;
using llvm::StringRef;

namespace {
constexpr Family kFamilies[] = {
    {"gpt2",
     "GPT2LMHeadModel",
     readGpt2,
     describeGpt2,
     "transformer.h",
     "n_layer",
     "transformer.wte.weight",
     {".attn.c_attn.", ".mlp.c_fc."},
     {".attn.bias", ".attn.masked_bias"}},
    {"llama",
     "LlamaForCausalLM",
     readLlama,
     describeLlama,
     "model.layers",
     "num_hidden_layers",
     "model.embed_tokens.weight",
     {".mlp.gate_proj.", ".mlp.up_proj."},
     {"rotary_emb.inv_freq", "rotary_emb.original_inv_freq"}},
    {"mixtral",
     "MixtralForCausalLM",
     readMixtral,
     describeMixtral,
     "model.layers",
     "num_hidden_layers",
     "model.embed_tokens.weight",
     {".block_sparse_moe.", ".mlp.experts."},
     {"rotary_emb.inv_freq", "rotary_emb.original_inv_freq"}},
};

/// Fields of every config.json that say nothing of the loss: about files, generation, and where and in what the weights
/// are kept.
constexpr StringRef kIgnored[] = {"model_type",
                                  "_name_or_path",
                                  "transformers_version",
                                  "use_cache",
                                  "bos_token_id",
                                  "eos_token_id",
                                  "initializer_range",
                                  "torch_dtype",
                                  "dtype",
                                  "tokenizer_class",
                                  "return_dict",
                                  "output_attentions",
                                  "id2label",
                                  "output_hidden_states",
                                  "label2id",
                                  "task_specific_params"};

llvm::Error refuse(const llvm::Twine &text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

/// Of the heads that Hugging Face puts on a family, the one of language modelling.
void checkArchitecture(ConfigFields &fields, const llvm::json::Object &config, const Family &family) {
  fields.ignore({"architectures"});
  const llvm::json::Array *names = config.getArray("architectures");
  if (names && !llvm::is_contained(*names, llvm::json::Value(family.architecture)))
    fields.complain("architectures", "\"" + family.architecture + "\"; the loss is that of language modelling");
}
} // namespace

llvm::ArrayRef<Family> p3d::model::families() { return kFamilies; }

llvm::Expected<std::unique_ptr<Decoder>> p3d::model::readConfig(StringRef json, int64_t sequence,
                                                                std::vector<std::string> &notes) {
  auto parsed = llvm::json::parse(json);
  if (!parsed)
    return parsed.takeError();
  const llvm::json::Object *config = parsed->getAsObject();
  if (!config)
    return refuse("found no object {...} of JSON; expected a config.json of Hugging Face");
  StringRef modelType = config->getString("model_type").value_or("");
  const Family *family = llvm::find_if(kFamilies, [&](const Family &row) { return row.modelType == modelType; });
  if (family == std::end(kFamilies)) {
    auto names = llvm::map_range(kFamilies, [](const Family &row) { return row.modelType; });
    return refuse("'model_type': found \"" + modelType + "\", expected one of " + llvm::join(names, ", ") +
                  "; export other models with frontend/python");
  }
  ConfigFields fields(*config);
  fields.ignore(kIgnored);
  checkArchitecture(fields, *config, *family);
  fields.mustBe("is_encoder_decoder", false, "the model is a decoder only");
  if (fields.has("pad_token_id"))
    fields.note("pad_token_id",
                "unlike in Hugging Face, that token's embedding has a gradient where input_ids holds it");
  fields.ignore({"pad_token_id"});
  std::unique_ptr<Decoder> decoder = family->read(fields, sequence);
  if (llvm::Error error = fields.takeError(modelType))
    return std::move(error);
  notes = fields.notes();
  return decoder;
}
