// Sentences about moves. What is said follows from how the value was made and who needs it, never from a model's names.
#include "passes/Shard/Reasons.h"
#include "passes/Support/Units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;
using llvm::formatv;

namespace {
bool isWeightGradient(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(graph::kGradRoleAttr);
  return role && role.getValue() == "weight_grad";
}

/// What a partial value is before it is complete.
StringRef partialWord(graph::ReduceKind kind) {
  switch (kind) {
  case graph::ReduceKind::Sum:
    return "sum";
  case graph::ReduceKind::Prod:
    return "product";
  case graph::ReduceKind::Max:
    return "maximum";
  case graph::ReduceKind::Min:
    return "minimum";
  case graph::ReduceKind::And:
    return "conjunction";
  case graph::ReduceKind::Or:
    return "disjunction";
  }
  llvm_unreachable("a reduction");
}

/// Named operations are called by their name, the others by what they do.
StringRef wordFor(StringRef mnemonic) {
  return llvm::StringSwitch<StringRef>(mnemonic)
      .Case("sub", "a subtraction")
      .Case("mul", "a multiplication")
      .Case("div", "a division")
      .Case("constrain", "a sharding constraint")
      .Case("convert", "a conversion")
      .Case("cumulative", "a running sum")
      .Case("reduce", "a reduction")
      .Case("select", "a selection")
      .Case("slice", "a slice")
      .Default(mnemonic);
}

/// The dimension that tp, or a part of it, cuts.
int cutDim(const Placement &placement) { return placement.tp[0].dim >= 0 ? placement.tp[0].dim : placement.tp[1].dim; }

bool completesTp(const Move &move) {
  return llvm::any_of(llvm::zip(move.from.tp, move.to.tp),
                      [](auto ends) { return std::get<0>(ends).isPartial && !std::get<1>(ends).isPartial; });
}

bool givesUpCut(const Move &move) {
  return llvm::any_of(llvm::zip(move.from.tp, move.to.tp), [](auto ends) {
    return std::get<0>(ends).dim >= 0 && std::get<0>(ends).dim != std::get<1>(ends).dim;
  });
}

std::string plural(StringRef word, size_t count) { return count == 1 ? word.str() : (word + "s").str(); }
} // namespace

Reasons::Reasons(ModuleOp module, const DimClasses &classes, const ShardingAnalysis &analysis, ArrayRef<bool> cut)
    : classes(classes), analysis(analysis), cut(cut), names(module) {
  module.walk([&](Operation *op) {
    if (auto id = op->getAttrOfType<IntegerAttr>(graph::kIdAttr))
      forwardOps[{op->getParentOp(), id.getInt()}] = op;
    if (auto call = dyn_cast<graph::CallOp>(op))
      callOf.try_emplace(call.lookupBlock(), call);
  });
  for (const Move &move : analysis.moves())
    movedUses.insert(move.use);
  nameClasses(module);
}

void Reasons::nameClasses(ModuleOp module) {
  auto name = [&](Value value, int64_t dim, const Twine &text) {
    if (int cls = classes.classOf(value, dim < 0 ? tensorType(value).getRank() + dim : dim); cls != DimClasses::kNone)
      classNames.try_emplace(cls, text.str());
  };
  // The operations that give a dimension its meaning, the surest first.
  module.walk([&](graph::CrossEntropyMaxOp op) { name(op.getLogits(), -1, "the vocabulary"); });
  module.walk([&](graph::AttentionOp op) {
    bool isGrouped = tensorType(op.getKey()).getDimSize(2) < tensorType(op.getQuery()).getDimSize(2);
    name(op.getKey(), 2, isGrouped ? "the key and value heads" : "the heads");
    name(op.getQuery(), 2, "the heads");
  });
  module.walk([&](graph::TopKOp op) { name(op.getOperand(), -1, "the experts"); });
  module.walk(
      [&](graph::EmbeddingOp op) { name(op.getTable(), 0, "the rows of " + joinNames(names.of(op.getTable()))); });
  std::map<std::pair<int, int64_t>, Names> held; // by class and dimension
  for (auto program : module.getOps<graph::ProgramOp>())
    for (Value argument : program.getBody().getArguments())
      for (int64_t d = 0; d < tensorType(argument).getRank(); ++d) {
        int cls = classes.classOf(argument, d);
        Names found = cls == DimClasses::kNone ? Names() : names.of(argument);
        classParameters[cls].append(found);
        held[{cls, d}].append(found);
      }
  for (auto &[place, found] : held)
    if (!found.empty())
      classNames.try_emplace(place.first,
                             formatv("dimension {0} of {1}", place.second, joinNames(generalizeNames(found), 2)));
}

std::string Reasons::nameOf(int cls) const {
  if (classes.isSequence(cls))
    return "the sequence";
  auto found = classNames.find(cls);
  return found == classNames.end() ? formatv("a dimension of {0} parts", classes.unitsOf(cls)).str() : found->second;
}

std::string Reasons::nameOfDim(Value value, int dim) const { return nameOf(classes.classOf(value, dim)); }

/// The operation that `op` is the gradient of.
Operation *Reasons::forwardOf(Operation *op) const {
  auto of = op->getAttrOfType<IntegerAttr>(graph::kOfAttr);
  auto name = op->getParentOp()->getAttrOfType<FlatSymbolRefAttr>(graph::kBackwardOfAttr);
  Operation *block = name ? SymbolTable::lookupNearestSymbolFrom(op->getParentOp(), name) : op->getParentOp();
  return of ? forwardOps.lookup({block, of.getInt()}) : nullptr;
}

/// Those that `op` works with; for a gradient those of the operation that it is of.
Reasons::Names Reasons::parametersOf(Operation *op) const {
  Names found;
  for (Value operand : op->getOperands())
    found.append(names.of(operand));
  if (Operation *forward = found.empty() ? forwardOf(op) : nullptr)
    for (Value operand : forward->getOperands())
      found.append(names.of(operand));
  return generalizeNames(found);
}

/// What a person calls an operation.
std::string Reasons::describe(Operation *op) const {
  if (isa<graph::YieldOp>(op))
    return op->getParentOp()->hasAttr(kPrologueAttr) ? "every microbatch" : "what follows the block";
  if (auto call = dyn_cast<graph::CallOp>(op))
    return ("block " + call.getCallee()).str();
  std::string parameters = joinNames(parametersOf(op));
  if (isa<graph::UpdateOp>(op))
    return "the update of " + parameters;
  if (isa<graph::EinsumOp>(op))
    return describeProducts(op);
  if (isWeightGradient(op) && !parameters.empty())
    return "the gradient of " + parameters;
  if (isa<graph::AddOp>(op)) {
    Names added = names.of(op->getOperand(0));
    added.append(names.of(op->getOperand(1)));
    if (added.empty())
      return "the addition after it";
    return "the addition of " + joinNames(generalizeNames(added));
  }
  StringRef mnemonic = op->getName().stripDialect();
  std::string gradient = mnemonic.consume_back("_grad") ? "the gradient of " : "";
  return gradient + wordFor(mnemonic).str() + (parameters.empty() ? "" : " (" + parameters + ")");
}

/// "the product with w", "the products with wq, wk and wv", "the input gradient of w", "the gradients of w and of its
/// input".
std::string Reasons::describeProducts(ArrayRef<Operation *> products) const {
  Names found;
  for (Operation *product : products)
    found.append(parametersOf(product));
  Names general = generalizeNames(found);
  std::string parameters = joinNames(general);
  if (parameters.empty())
    return products.size() == 1 ? "a product" : "products";
  auto isGradient = [](Operation *op) { return op->hasAttr(graph::kOfAttr); };
  size_t count = products.size();
  if (llvm::none_of(products, isGradient))
    return plural("the product", count) + " with " + parameters;
  if (llvm::all_of(products, isWeightGradient))
    return plural("the gradient", count) + " of " + parameters;
  if (llvm::none_of(products, isWeightGradient))
    return plural("the input gradient", count) + " of " + parameters;
  return "the gradients of " + parameters + " and of what is multiplied by " + (general.size() > 1 ? "them" : "it");
}

/// The result of another block that arrives as `value`; null if none does.
OpResult Reasons::passedResult(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  graph::CallOp call = argument ? callOf.lookup(argument.getOwner()->getParentOp()) : graph::CallOp();
  auto result = call ? dyn_cast<OpResult>(call.getInputs()[argument.getArgNumber()]) : OpResult();
  return result && isa<graph::CallOp>(result.getOwner()) ? result : OpResult();
}

Value Reasons::savedValue(Value value) const {
  OpResult result = passedResult(value);
  if (!result)
    return {};
  graph::BlockOp block = cast<graph::CallOp>(result.getOwner()).lookupBlock();
  auto saves = block->getAttrOfType<IntegerAttr>(graph::kSavesAttr);
  bool isSaved = saves && result.getResultNumber() + saves.getInt() >= result.getOwner()->getNumResults();
  return isSaved ? block.getBody().front().getTerminator()->getOperand(result.getResultNumber()) : Value();
}

/// Where a value comes from, through the call of the block that it is an argument of.
std::string Reasons::describeSource(Value value) const {
  if (Operation *def = value.getDefiningOp())
    return isa<graph::AddOp>(def) ? "a sum" : "the result of " + describe(def);
  if (Value saved = savedValue(value))
    return describeSource(saved) + " kept for the backward pass";
  OpResult result = passedResult(value);
  if (!result)
    return "an input of the block";
  bool isGradient = cast<graph::CallOp>(result.getOwner()).lookupBlock()->hasAttr(graph::kBackwardOfAttr);
  return isGradient ? "the gradient that comes from the block behind" : "the result of the block before";
}

std::string Reasons::describeNeed(ArrayRef<Move> moves, StringRef verb, StringRef what) const {
  llvm::SmallSetVector<Operation *, 4> users;
  for (const Move &move : moves)
    users.insert(move.use->getOwner());
  bool areProducts =
      users.size() > 1 && llvm::all_of(users, [](Operation *user) { return isa<graph::EinsumOp>(user); });
  std::string who = areProducts ? describeProducts(users.getArrayRef()) : describe(users.front());
  return (who + " " + verb + (areProducts ? "" : "s") + " " + what).str();
}

/// The operations that make `value` partial; those between them and it only pass that on.
void Reasons::collectMakers(Value value, SetVector<Operation *> &makers) const {
  Operation *def = value.getDefiningOp();
  if (!def)
    return;
  auto isPartial = [&](OpOperand &operand) {
    return analysis.placementOf(operand.get()).isPartialOverTp() && !movedUses.contains(&operand);
  };
  if (isa<graph::CallOp>(def) || llvm::none_of(def->getOpOperands(), isPartial)) {
    makers.insert(def);
    return;
  }
  for (OpOperand &operand : def->getOpOperands())
    if (isPartial(operand))
      collectMakers(operand.get(), makers);
}

/// Whether sequence parallelism, which is off, would leave a part of `value` on each rank.
bool Reasons::mayCutSequence(Value value) const {
  bool hasSequence = false, hasBatch = classes.batchClass() == DimClasses::kNone, isWide = false;
  for (int64_t d = 0; d < tensorType(value).getRank(); ++d) {
    int cls = classes.classOf(value, d);
    if (cls == DimClasses::kNone)
      continue;
    if (classes.isSequence(cls) && cut[cls])
      return false;
    (classes.isSequence(cls) ? hasSequence : cls == classes.batchClass() ? hasBatch : isWide) = true;
  }
  return hasSequence && hasBatch && isWide;
}

/// Why `value` is partial; ends in "; " where who needs it is to follow.
std::string Reasons::describePartial(Value value, graph::ReduceKind kind, ArrayRef<Operation *> makers,
                                     ArrayRef<std::string> parameters) const {
  std::string all = joinNames(parameters);
  auto areAll = [&](auto isOne) { return llvm::all_of(makers, isOne); };
  auto isGradient = [](Operation *op) { return op->hasAttr(graph::kOfAttr); };
  auto overClasses = [&](Value logits) {
    return "over " + nameOfDim(logits, tensorType(logits).getRank() - 1) + ", which tp cuts";
  };
  size_t count = makers.size();
  if (auto max = value.getDefiningOp<graph::CrossEntropyMaxOp>())
    return "the maximum of each token's logits " + overClasses(max.getLogits());
  if (auto sum = value.getDefiningOp<graph::CrossEntropySumOp>())
    return value == sum.getSum()
               ? "the sum of each token's exponentials " + overClasses(sum.getLogits())
               : "each token's target logit, which one rank has: a choice " + overClasses(sum.getLogits());
  if (!all.empty() && areAll([](Operation *op) { return isa<graph::EmbeddingOp>(op); }))
    return "vocabulary-parallel embedding " + all + ": each rank looks up the rows that it holds; ";
  bool areProducts = !all.empty() && areAll([](Operation *op) { return isa<graph::EinsumOp>(op); });
  if (areProducts && areAll(isGradient) && llvm::none_of(makers, isWeightGradient))
    return formatv("column-parallel {0} of {1}: the gradient of {2} input is a partial sum; ", plural("product", count),
                   all, count == 1 ? "its" : "their");
  if (areProducts && llvm::none_of(makers, isGradient))
    return formatv("row-parallel {0} of {1} {2} a partial sum; ", plural("product", count), all,
                   count == 1 ? "leaves" : "leave");
  return formatv("{0} over a dimension that tp cuts leaves a partial {1}; ",
                 makers.empty() ? "a block" : describe(makers.front()), partialWord(kind));
}

Reason Reasons::ofPartial(ArrayRef<Move> moves) const {
  const Move &move = moves.front();
  Value value = move.use->get();
  SetVector<Operation *> makers;
  collectMakers(value, makers);
  Names all;
  for (Operation *maker : makers)
    all.append(parametersOf(maker));
  Reason reason;
  reason.parameters = generalizeNames(all);
  reason.text = describePartial(value, move.from.kind, makers.getArrayRef(), reason.parameters);
  bool toSequence = move.to.isCutOverTp() && classes.isSequence(classes.classOf(value, cutDim(move.to)));
  if (StringRef(reason.text).ends_with("; ")) {
    if (move.to.isCutOverTp())
      reason.text += describeNeed(moves, "work", "on a part of ") + nameOfDim(value, cutDim(move.to));
    else
      reason.text += describeNeed(moves, "need", "it whole");
  }
  reason.remedy = "tp=1";
  if (move.from.batch.isPartial && !move.to.batch.isPartial)
    reason.remedy += " and dp=1";
  else if (toSequence)
    reason.remedy += "; --sequence-parallel=off makes it an all-reduce";
  else if (!move.to.isCutOverTp() && mayCutSequence(value))
    reason.remedy += "; --sequence-parallel=on makes it a reduce-scatter, and gathers before the next products";
  return reason;
}

Reason Reasons::ofGather(ArrayRef<Move> moves) const {
  const Move &move = moves.front();
  Value value = move.use->get();
  Reason reason;
  Names all = names.of(value);
  for (const Move &other : moves)
    all.append(parametersOf(other.use->getOwner()));
  reason.parameters = generalizeNames(all);
  std::string held = joinNames(names.of(value));
  std::string source = held.empty() ? describeSource(value) : held;
  bool fromSequence = classes.isSequence(classes.classOf(value, cutDim(move.from)));
  bool toSequence = move.to.isCutOverTp() && classes.isSequence(classes.classOf(value, cutDim(move.to)));
  std::string cutAlong = nameOfDim(value, cutDim(move.from));
  if (move.to.isCutOverTp())
    reason.text = describeNeed(moves, "work", "on a part of ") + nameOfDim(value, cutDim(move.to)) + ", but tp cuts " +
                  source + " along " + cutAlong;
  else
    reason.text = describeNeed(moves, "need", "all of ") + source + ", which tp cuts along " + cutAlong;
  if (savedValue(value) && !move.to.isCutOverTp())
    reason.text += "; kept whole it would take " + bytesText(analysis.bytesHeld(value, move.to) - analysis.bytesHeld(value, move.from)) +
                   " more for each microbatch between its two passes";
  reason.remedy = fromSequence || toSequence ? "tp=1; --sequence-parallel=off" : "tp=1";
  return reason;
}

Reason Reasons::of(ArrayRef<Move> moves) const {
  const Move &move = moves.front();
  bool movesTp = completesTp(move) || givesUpCut(move);
  auto isConstraint = [](const Move &other) { return isa<graph::ConstrainOp>(other.use->getOwner()); };
  if (llvm::any_of(moves, isConstraint)) {
    Reason reason{"a sharding constraint of the user wants it so", "", names.of(move.use->get())};
    if (movesTp)
      reason.remedy = "tp=1; leaving out the constraint";
    return reason;
  }
  if (completesTp(move))
    return ofPartial(moves);
  if (move.from.batch.isPartial && !move.to.batch.isPartial)
    return {"a sum over the batch, which dp cuts; " + describeNeed(moves, "need", "it complete"), "dp=1", {}};
  if (movesTp)
    return ofGather(moves);
  return {describeNeed(moves, "work", "on a part of ") + describeSource(move.use->get()), "", {}};
}

ArrayAttr Reasons::uneven(MLIRContext *context, int64_t parts) const {
  Builder builder(context);
  SmallVector<Attribute> found;
  for (auto [cls, isCut] : llvm::enumerate(cut)) {
    int64_t units = classes.unitsOf(cls);
    if (!isCut || parts <= 1 || units % parts == 0 || classes.isSplit(cls))
      continue;
    SmallVector<std::string> parameters = generalizeNames(classParameters.lookup(cls));
    SmallVector<StringRef> texts(parameters.begin(), parameters.end());
    found.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("dimension", builder.getStringAttr(nameOf(cls))),
         builder.getNamedAttr("parameters", builder.getStrArrayAttr(texts)),
         builder.getNamedAttr("rows", builder.getI64IntegerAttr(llvm::divideCeil(units, parts))),
         builder.getNamedAttr("units", builder.getI64IntegerAttr(units))}));
  }
  return found.empty() ? ArrayAttr() : builder.getArrayAttr(found);
}
