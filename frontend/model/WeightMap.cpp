#include "frontend/model/WeightMap.h"
#include "frontend/model/Families.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>
#include <set>

using namespace p3d;
using namespace p3d::model;
using llvm::StringRef;
using llvm::Twine;

namespace {
constexpr llvm::StringLiteral kRoot = "params.", kHead = "lm_head.weight";

int64_t elements(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>());
}

std::string text(const Shape &shape) {
  return "[" + llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }), ", ") + "]";
}

llvm::Error refuse(const Twine &text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

/// A tensor of the file under the name that it has in Hugging Face's model with a head.
struct Found {
  std::string tensor; ///< its name in the file
  Shape shape;
  int64_t begin = 0; ///< of a layer within a stack
};

/// What is wrong, one a line; of many the first.
class Complaints {
public:
  void add(const Twine &text) {
    if (lines.size() < kShown)
      lines.push_back(text.str());
    else
      ++more;
  }
  llvm::Error take() {
    if (lines.empty())
      return llvm::Error::success();
    if (more > 0)
      lines.push_back("and " + std::to_string(more) + " more tensors");
    return refuse(llvm::join(lines, "\n"));
  }

private:
  static constexpr size_t kShown = 10;
  std::vector<std::string> lines;
  size_t more = 0;
};

/// The number behind `prefix` and a dot, and what follows: "model.layers.3.mlp.gate.weight" -> 3, "mlp.gate.weight".
std::optional<int64_t> takeLayer(StringRef &name, StringRef prefix) {
  StringRef rest = name;
  uint64_t layer;
  if (!rest.consume_front(prefix) || !rest.consume_front(".") || rest.consumeInteger(10, layer) || layer > INT32_MAX ||
      !rest.consume_front("."))
    return std::nullopt;
  name = rest;
  return int64_t(layer);
}

/// The tensors of a file, unstacked and with the prefix of the model, whatever their names in the file say of either.
class Contents : public CheckpointSizes {
public:
  Contents(const TensorShapes &tensors, const Family &family, Complaints &complaints)
      : isOurs(llvm::StringRef(tensors.begin()->first).starts_with(kRoot)), family(family), complaints(complaints) {
    for (const auto &[name, shape] : tensors)
      add(name, shape);
    // More layers than tensors are no layers, but a name that the comparison refuses.
    if (!stacked)
      layerCount = std::clamp<int64_t>(layerCount, 1, int64_t(tensors.size()));
  }

  bool has(StringRef name) const override { return table.count(name.str()); }
  int64_t size(StringRef name, unsigned dimension) const override {
    auto found = table.find(name.str());
    return found == table.end() || found->second.shape.size() <= dimension ? 1 : std::max<int64_t>(found->second.shape[dimension], 1);
  }
  int64_t layers() const { return layerCount; }
  bool areStacked() const { return stacked; }

  const Found *find(const std::string &name) const {
    auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  }
  llvm::ArrayRef<std::string> buffers() const { return leftOut; }
  const std::map<std::string, Found> &all() const { return table; }

  const bool isOurs;

private:
  void add(const std::string &tensor, const Shape &shape) {
    StringRef name = tensor;
    if (name.consume_front(kRoot) != isOurs)
      return complaints.add("'" + tensor + "' stands beside names of the other side: all begin with '" + kRoot + "', as p3d-run writes them, or none");
    if (!isOurs && llvm::any_of(family.buffers, [&](StringRef end) { return name.ends_with(end); }))
      return leftOut.push_back(tensor);
    std::string whole = name.str();
    StringRef base = family.layerPrefix.take_front(family.layerPrefix.find('.') + 1);
    if (!isOurs && !name.starts_with(base) && name != kHead)
      whole = (base + name).str();
    StringRef rest = whole;
    if (auto layer = takeLayer(rest, family.layerPrefix))
      layerCount = std::max(layerCount, *layer + 1);
    else if (isOurs && rest.consume_front((family.layerPrefix + ".").str()) && !shape.empty())
      return addStack(tensor, rest, shape);
    insert(whole, {tensor, shape});
  }

  void addStack(const std::string &tensor, StringRef parameter, const Shape &shape) {
    stacked = true;
    Shape one(shape.begin() + 1, shape.end());
    int64_t layers = std::clamp<int64_t>(shape.front(), 1, kMostLayers);
    layerCount = std::max(layerCount, layers);
    for (int64_t layer = 0; layer < layers; ++layer)
      insert((family.layerPrefix + "." + Twine(layer) + "." + parameter).str(), {tensor, one, layer * elements(one)});
  }

  void insert(const std::string &name, const Found &found) {
    auto [at, isNew] = table.emplace(name, found);
    if (!isNew)
      complaints.add("'" + found.tensor + "' and '" + at->second.tensor + "' are the same parameter; remove one of them");
  }

  static constexpr int64_t kMostLayers = 1 << 16; ///< of a stack: a first dimension that is none makes no endless table
  const Family &family;
  Complaints &complaints;
  std::map<std::string, Found> table;
  std::vector<std::string> leftOut;
  int64_t layerCount = 0;
  bool stacked = false;
};

/// The family whose marks the names bear.
const Family *recognise(const TensorShapes &tensors) {
  for (const Family &family : families())
    for (const auto &[name, shape] : tensors)
      if (llvm::any_of(family.marks, [&](StringRef mark) { return StringRef(name).contains(mark); }))
        return &family;
  return nullptr;
}

class Mapper {
public:
  Mapper(const Checkpoint &checkpoint, const Contents &contents, const Decoder &decoder, bool scan, Complaints &complaints)
      : checkpoint(checkpoint), contents(contents), decoder(decoder), stacks(scan), complaints(complaints) {}

  WeightMap run(const Family &family) {
    mapWhole(decoder.parametersBefore());
    mapLayers();
    mapWhole(decoder.parametersBehind());
    checkTied(family);
    std::set<std::string> refused;
    for (const auto &[name, found] : contents.all())
      if (!used.count(name) && refused.insert(found.tensor).second)
        complaints.add("'" + found.tensor + "' is no parameter of a \"" + family.modelType + "\" of " + Twine(decoder.layerCount) +
                       " layers; nothing is dropped: remove it if the loss does not need it, or export the model with frontend/python");
    if (!contents.buffers().empty())
      map.notes.push_back(std::to_string(contents.buffers().size()) + " tables that the model makes itself are left out, '" + contents.buffers().front() +
                          "' first");
    return std::move(map);
  }

private:
  /// The file's tensor of that name, if it is there in that shape.
  const Found *expect(const std::string &name, const Shape &shape) {
    const Found *found = contents.find(name);
    if (!found) {
      complaints.add("'" + name + "' is missing; expected " + text(shape) + ": give all of the checkpoint, and its own config.json");
      return nullptr;
    }
    used.insert(name);
    if (found->shape == shape)
      return found;
    complaints.add("'" + found->tensor + "' is " + text(found->shape) + (contents.areStacked() ? " in each layer" : "") + ", expected " + text(shape) +
                   ": the config is another model's, or the tensor is damaged");
    return nullptr;
  }

  /// Where the elements of `parameter` are, whose name within the model begins with `prefix`.
  std::vector<PartOfTensor> find(const std::string &prefix, const Parameter &parameter) {
    std::vector<Parameter> parts{parameter};
    if (!contents.isOurs && !contents.has(prefix + parameter.name))
      parts = checkpointParts(prefix, parameter);
    std::vector<PartOfTensor> found;
    for (const Parameter &part : parts)
      if (const Found *tensor = expect(prefix + part.name, part.shape))
        found.push_back({tensor->tensor, tensor->begin, elements(part.shape)});
    return found;
  }

  std::vector<Parameter> checkpointParts(StringRef prefix, const Parameter &parameter) const {
    return prefix.empty() ? std::vector<Parameter>{parameter} : decoder.checkpointParts(parameter);
  }

  /// The tensors of a checkpoint that `parameter` becomes, or the parameter itself.
  void write(const std::string &prefix, const Parameter &parameter, const std::vector<PartOfTensor> &from) {
    if (!contents.isOurs) {
      map.tensors.push_back({(kRoot + prefix + parameter.name).str(), parameter.shape, from});
      return;
    }
    if (from.empty())
      return;
    int64_t begin = from.front().begin;
    for (const Parameter &part : checkpointParts(prefix, parameter)) {
      int64_t count = elements(part.shape);
      map.tensors.push_back({prefix + part.name, part.shape, {{from.front().tensor, begin, count}}});
      begin += count;
    }
  }

  void mapWhole(const std::vector<Parameter> &list) {
    for (const Parameter &parameter : list)
      write("", parameter, find("", parameter));
  }

  void mapLayers() {
    std::vector<TensorOfParts> stacked;
    for (const Parameter &parameter : decoder.layerParameters()) {
      Shape shape = parameter.shape;
      shape.insert(shape.begin(), decoder.layerCount);
      stacked.push_back({(kRoot + decoder.layerPrefix + "." + parameter.name).str(), shape, {}});
    }
    for (int64_t layer = 0; layer < decoder.layerCount; ++layer)
      for (auto [i, parameter] : llvm::enumerate(decoder.layerParameters())) {
        std::string prefix = (decoder.layerPrefix + "." + Twine(layer) + ".").str();
        std::vector<PartOfTensor> parts = find(prefix, parameter);
        if (stacks)
          llvm::append_range(stacked[i].parts, parts);
        else
          write(prefix, parameter, parts);
      }
    if (stacks)
      llvm::append_range(map.tensors, stacked);
  }

  /// A head that is the embedding may stand in a checkpoint too.
  void checkTied(const Family &family) {
    const Found *head = contents.find(kHead.str()), *table = contents.find(family.embedding.str());
    if (contents.isOurs || !head || !table || !used.insert(kHead.str()).second)
      return;
    if (checkpoint.areEqual(head->tensor, table->tensor))
      map.notes.push_back("'" + head->tensor + "' repeats '" + table->tensor + "' and is left out; a model that does not tie them needs its config.json");
    else
      complaints.add("'" + head->tensor + "' differs from '" + table->tensor +
                     "', which the config ties to it; set \"tie_word_embeddings\": false in it");
  }

  const Checkpoint &checkpoint;
  const Contents &contents;
  const Decoder &decoder;
  bool stacks;
  Complaints &complaints;
  std::set<std::string> used;
  WeightMap map;
};

/// The model by its tensors: a config.json of what names and shapes depend on.
std::string describe(const Family &family, const Checkpoint &checkpoint, const Contents &contents) {
  llvm::json::Object config{{"model_type", family.modelType}};
  config[family.layersField] = contents.layers();
  const Found *head = contents.find(kHead.str()), *table = contents.find(family.embedding.str());
  config["tie_word_embeddings"] = !head || (!contents.isOurs && table && checkpoint.areEqual(head->tensor, table->tensor));
  family.describe(contents, config);
  return llvm::formatv("{0}", llvm::json::Value(std::move(config))).str();
}

std::string describeWay(const Contents &contents, bool scan) {
  const char *stacked = contents.areStacked() || scan ? " in stacks" : "";
  return contents.isOurs ? std::string("from p3d-model's parameters") + stacked + " to Hugging Face's names"
                         : std::string("from Hugging Face's names to p3d-model's parameters") + stacked;
}
} // namespace

llvm::Expected<WeightMap> p3d::model::mapWeights(const Checkpoint &checkpoint, std::optional<StringRef> config, bool scan) {
  const Family *family = checkpoint.tensors.empty() ? nullptr : recognise(checkpoint.tensors);
  if (!family) {
    auto names = llvm::map_range(families(), [](const Family &row) { return row.modelType; });
    return refuse("no tensor has a name of one of " + llvm::join(names, ", ") + "; other models keep the names of frontend/python");
  }
  Complaints complaints;
  Contents contents(checkpoint.tensors, *family, complaints);
  if (contents.isOurs && scan)
    return refuse("--scan stacks the parameters of p3d-model, and these are to get Hugging Face's names; leave it out");
  std::vector<std::string> notes;
  auto decoder = readConfig(config ? config->str() : describe(*family, checkpoint, contents), 1, notes);
  if (!decoder)
    return decoder.takeError();
  if ((*decoder)->layerPrefix != family->layerPrefix)
    return refuse("the names of tensors are of a \"" + family->modelType + "\", but the config is of another model; give its own config.json");
  WeightMap map = Mapper(checkpoint, contents, **decoder, scan, complaints).run(*family);
  if (llvm::Error error = complaints.take())
    return std::move(error);
  map.summary = (family->modelType + ", " + Twine((*decoder)->layerCount) + " layers, " + describeWay(contents, scan)).str();
  return map;
}
