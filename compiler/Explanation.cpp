// Collects the lines of --explain. Collectives of blocks bring their reasons from the level that made them; those of
// the pipeline and of the update get theirs here.
#include "compiler/Explanation.h"
#include "compiler/MessageCosts.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Support/ParameterNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;
using llvm::formatv;

Share &Share::operator+=(const Share &other) {
  count += other.count;
  bytes += other.bytes;
  to = other.to;
  seconds += other.seconds;
  for (int64_t layer : other.layers)
    if (!llvm::is_contained(layers, layer))
      layers.push_back(layer);
  return *this;
}

namespace {
/// "layer" of the blocks layer.fwd and layer.bwd.
std::string baseName(graph::CallOp call) { return call ? call.getCallee().rsplit('.').first.str() : ""; }

std::string locationOf(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  return place ? formatv("{0}:{1}", place.getFilename().getValue(), place.getLine()).str() : "unknown";
}

/// Of an axis or a part of one.
std::string remedyFor(StringRef axis) { return (axis.split('_').first + "=1").str(); }

/// The parameters that buffers hold, or gradient buffers are of.
SmallVector<std::string> parametersOf(StageOp stage, ArrayRef<StringRef> buffers) {
  SmallVector<std::string> names;
  for (StringRef symbol : buffers) {
    BufferOp buffer = stage.getBuffer(symbol);
    if (auto of = buffer->getAttrOfType<FlatSymbolRefAttr>(kOfAttr))
      buffer = stage.getBuffer(of.getValue());
    if (buffer.getKind() != BufferKind::Parameter)
      continue;
    auto name = buffer->getAttrOfType<StringAttr>(graph::kNameAttr);
    names.push_back((name ? name : buffer.getSymNameAttr()).str());
  }
  return generalizeNames(names);
}

/// What an operation that moves several buffers in one message moves; empty for any other.
SmallVector<StringRef> buffersOf(Operation *op) {
  if (!isa_and_nonnull<SynchronizeOp, ReduceSharesOp, GatherSharesOp>(op))
    return {};
  return llvm::map_to_vector(op->getAttrOfType<ArrayAttr>("buffers").getAsRange<FlatSymbolRefAttr>(), [](FlatSymbolRefAttr name) { return name.getValue(); });
}

class Explainer {
public:
  Explainer(ModuleOp module, const ManifestInputs &inputs)
      : module(module), inputs(inputs), mesh(module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr)),
        costs(module, inputs.rankOrder, inputs.cluster) {}

  Explanation run() {
    forEachMessage(module, [&](const Message &message) { add(message); });
    // In the order of a step; what belongs to no block comes last.
    llvm::stable_sort(explanation.lines, [&](const Line &a, const Line &b) { return place(a) < place(b); });
    addPaddings();
    return std::move(explanation);
  }

private:
  void add(const Message &message);
  Reason reasonOf(const Message &message);
  Reason reasonOfSend(SendOp send, StageOp stage);
  template <typename Op> Reason reasonOfBuffers(Op op, StageOp stage);
  Reason reasonOfTied(ReduceTiedOp tied, StageOp stage);
  /// The prologue comes before everything, though only a later stage may need it.
  std::tuple<bool, size_t, size_t> place(const Line &line) const {
    constexpr llvm::StringLiteral kPhases[] = {"prologue", "forward", "backward", "update"};
    size_t phase = llvm::find(kPhases, line.phase) - std::begin(kPhases);
    size_t block = line.block.empty() ? blocks.size() : llvm::find(blocks, line.block) - blocks.begin();
    return {phase != 0, block, phase};
  }
  void addPaddings();

  ModuleOp module;
  const ManifestInputs &inputs;
  dist::MeshAttr mesh;
  Explanation explanation;
  std::vector<std::string> blocks; ///< in the order of the program
  /// What is one line: the operation of a block, or, outside of blocks, what would read the same.
  using Key =
      std::tuple<Operation *, std::string, std::string, std::string, std::string, std::string, SmallVector<int64_t>>;
  std::map<Key, size_t> known;
  MessageCosts costs;
};

void Explainer::add(const Message &message) {
  Reason reason = reasonOf(message);
  StageOp stage = message.stage;
  Line line{message.kind, message.axis, message.getPhase().str(), baseName(message.call),
            dtypeName(getElementTypeOrSelf(message.type))};
  line.shape = SmallVector<int64_t>(cast<RankedTensorType>(message.type).getShape());
  bool inBlock = bool(message.call);
  size_t buffers = buffersOf(message.op).size();
  Key key{inBlock ? message.op : nullptr,
          line.kind,
          line.axis,
          line.phase,
          line.dtype,
          inBlock ? "" : reason.text,
          buffers ? SmallVector<int64_t>() : line.shape};
  auto [found, isNew] = known.try_emplace(key, explanation.lines.size());
  if (isNew) {
    line.location = locationOf(message.op ? message.op->getLoc() : stage.getLoc());
    line.reason = reason;
    line.tensors = buffers ? 0 : 1;
    explanation.lines.push_back(line);
    if (!line.block.empty() && !llvm::is_contained(blocks, line.block))
      blocks.push_back(line.block);
  }
  Line &kept = explanation.lines[found->second];
  kept.tensors += buffers;
  SmallVector<std::string> names = kept.reason.parameters;
  llvm::append_range(names, reason.parameters);
  kept.reason.parameters = generalizeNames(names);
  Share share{message.times,
              message.bytes,
              message.times * costs.secondsOf(message),
              {},
              message.to};
  if (graph::CallOp call = message.call; call && call.getLayer())
    share.layers.push_back(*call.getLayer());
  kept.stages[stage.getIndex()] += share;
}

Reason Explainer::reasonOf(const Message &message) {
  if (!message.op && isSharedByReplicas(module))
    return {"the norm of the whole gradient, which clipping and the log need, is a sum over the shares of all ranks", "tp=1, pp=1 and dp=1", {}};
  if (!message.op)
    return {"the norm of the whole gradient, which clipping and the log need, is a sum over the ranks of a replica",
            "tp=1 and pp=1",
            {}};
  return llvm::TypeSwitch<Operation *, Reason>(message.op)
      .Case([&](SendOp send) { return reasonOfSend(send, message.stage); })
      .Case([&](SynchronizeOp sync) { return reasonOfBuffers(sync, message.stage); })
      .Case<ReduceSharesOp, GatherSharesOp>([&](auto op) {
        Reason reason = reasonOfBuffers(op, message.stage);
        reason.remedy += "; --zero=0 updates all on each rank";
        return reason;
      })
      .Case([&](ReduceTiedOp tied) { return reasonOfTied(tied, message.stage); })
      .Default([&](Operation *op) {
        StringRef remedy = remedyOf(op);
        return Reason{p3d::reasonOf(op).str(),
                      remedy.empty() ? remedyFor(message.axis) : remedy.str(), p3d::parametersOf(op)};
      });
}

Reason Explainer::reasonOfSend(SendOp send, StageOp stage) {
  bool isBackward = send->getParentOfType<TaskOp>().getKind() != TaskKind::Forward;
  int64_t distance = std::abs(int64_t(send.getStage()) - int64_t(stage.getIndex()));
  std::string who = distance == 1 ? (isBackward ? "the stage before" : "the next stage")
                                  : formatv("stage {0}", send.getStage()).str();
  auto call = send.getValue().getDefiningOp<graph::CallOp>();
  auto [first, last] = stage.getLayersOf(send->getParentOfType<TaskOp>().getChunk());
  int64_t border = isBackward ? first : last;
  std::string what;
  if (call && call.getLayer() == border)
    what = isBackward ? "the gradient that the first layer of this one makes" : "what the last layer of this one makes";
  else if (call)
    what = "what " + (call.getLayer() ? formatv("layer {0}", *call.getLayer()).str() : "block " + baseName(call)) +
           " makes";
  else
    what = "a value outside of the blocks";
  return {who + " needs " + what, "pp=1", {}};
}

template <typename Op> Reason Explainer::reasonOfBuffers(Op op, StageOp stage) {
  return {op.getReason().str(), remedyFor(op.getAxis()), parametersOf(stage, buffersOf(op))};
}

Reason Explainer::reasonOfTied(ReduceTiedOp tied, StageOp stage) {
  SmallVector<std::string> parameters = parametersOf(stage, {tied.getBuffer()});
  std::string stages =
      joinNames(llvm::map_to_vector(tied.getStages(), [](int64_t index) { return std::to_string(index); }));
  return {formatv("{0} is used in stages {1}, each of which has a copy: their gradients are summed",
                  joinNames(parameters), stages),
          "pp=1; a parameter of its own for each use", parameters};
}

void Explainer::addPaddings() {
  auto uneven = module->getAttrOfType<ArrayAttr>(kUnevenAttr);
  if (!uneven)
    return;
  for (Attribute each : uneven) {
    auto entry = dyn_cast<DictionaryAttr>(each);
    if (!entry)
      continue; // edited, with --from
    auto dimension = entry.getAs<StringAttr>("dimension");
    auto units = entry.getAs<IntegerAttr>("units"), rows = entry.getAs<IntegerAttr>("rows");
    auto names = entry.getAs<ArrayAttr>("parameters");
    if (!dimension || !units || !rows || !names || units.getInt() < 1 || rows.getInt() < 1)
      continue;
    Padding padding{dimension.str(), units.getInt(), mesh.getTp(), rows.getInt(), {}};
    for (Attribute name : names)
      if (auto text = dyn_cast<StringAttr>(name))
        padding.reason.parameters.push_back(text.str());
    int64_t full = padding.units / padding.rows, rest = padding.units % padding.rows,
            idle = padding.parts - full - (rest > 0);
    padding.reason.text =
        formatv("{0}: {1} over tp={2} are {3} a rank, padded to {4}: {5:P} more work and memory in what it cuts",
                padding.dimension, padding.units, padding.parts, padding.rows, padding.padded(), padding.extra());
    if (idle > 0)
      padding.reason.text += formatv("; {0} of {1} ranks have none", idle, padding.parts);
    SmallVector<std::string> sizes;
    for (int64_t size = 1; size <= std::min<int64_t>(padding.units, 64); ++size)
      if (padding.units % size == 0)
        sizes.push_back(std::to_string(size));
    padding.reason.remedy = formatv("tp={0}; {1} of them in the model", llvm::join(sizes, " or "),
                                    llvm::alignTo(padding.units, padding.parts));
    explanation.paddings.push_back(std::move(padding));
  }
}
} // namespace

Explanation p3d::explain(ModuleOp scheduled, const ManifestInputs &inputs) {
  return Explainer(scheduled, inputs).run();
}
