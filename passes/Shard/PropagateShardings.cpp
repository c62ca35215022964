// Chooses what tp cuts and writes the shardings into the IR; see Passes.td.
#include "passes/Shard/ChooseTensorParallel.h"
#include "passes/Shard/Passes.h"
#include "passes/Shard/Plan.h"
#include "passes/Shard/Reasons.h"
#include "passes/Shard/UserShardings.h"
#include "passes/Support/Signature.h"

namespace p3d::shard {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/Shard/Passes.h.inc"
} // namespace p3d::shard

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

namespace {
constexpr llvm::StringLiteral kBatchDimAttr = "graph.batch_dim";

/// Writes the result of an analysis into the IR.
class ShardingWriter {
public:
  ShardingWriter(ModuleOp module, const ShardingAnalysis &analysis, const Reasons &reasons, dist::MeshAttr mesh)
      : module(module), analysis(analysis), reasons(reasons), mesh(mesh) {}

  void write() {
    if (ArrayAttr uneven = reasons.uneven(module.getContext(), mesh.getTp()))
      module->setAttr(kUnevenAttr, uneven);
    insertMoves();
    for (Operation &op : *module.getBody())
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        annotate(function);
    dropConstraints();
    module->setAttr(dist::kMeshAttr, mesh);
  }

private:
  static bool isInput(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto program = argument ? dyn_cast<graph::ProgramOp>(argument.getOwner()->getParentOp()) : graph::ProgramOp();
    return program && program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr) ==
                          StringAttr::get(program.getContext(), "input");
  }
  static bool inPrologue(Operation *op) { return op->getParentOp()->hasAttr(kPrologueAttr); }

  /// One reshard for each value and placement, right after the value.
  void insertMoves() {
    llvm::MapVector<std::pair<Value, std::pair<Attribute, Attribute>>, SmallVector<Move>> planned;
    for (const Move &move : analysis.moves()) {
      bool hasMb = !inPrologue(move.use->getOwner());
      Value value = move.use->get();
      auto from = analysis.spell(value, move.from, hasMb), to = analysis.spell(value, move.to, hasMb);
      if (from != to)
        planned[{value, {from, to}}].push_back(move);
    }
    // All of them before the first one changes the program that they speak of.
    SmallVector<Reason> why = llvm::map_to_vector(planned, [&](auto &entry) { return reasons.of(entry.second); });
    for (auto [entry, reason] : llvm::zip(planned, why)) {
      auto [value, ends] = entry.first;
      Value moved = reshard(value, cast<dist::ShardingAttr>(ends.first), cast<dist::ShardingAttr>(ends.second), reason);
      for (const Move &move : entry.second)
        move.use->set(moved);
    }
    for (Operation *convert : repeated)
      if (convert->use_empty())
        convert->erase();
    takeMicrobatches();
  }

  /// Whether parts of `value` meet, and are fewer bytes before the conversion that made it.
  static bool meetsNarrower(Value value, dist::ShardingAttr from, dist::ShardingAttr to) {
    auto convert = value.getDefiningOp<graph::ConvertOp>();
    bool isWider = convert && tensorType(convert.getOperand()).getElementTypeBitWidth() < tensorType(value).getElementTypeBitWidth();
    return isWider && from.dimOf(dist::Axis::TP) >= 0 && to.dimOf(dist::Axis::TP) < 0;
  }

  Value reshard(Value value, dist::ShardingAttr from, dist::ShardingAttr to, const Reason &reason) {
    if (meetsNarrower(value, from, to)) {
      Operation *convert = value.getDefiningOp();
      Value moved = reshard(convert->getOperand(0), from, to, reason);
      OpBuilder builder(module.getContext());
      builder.setInsertionPointAfter(convert);
      Operation *again = builder.clone(*convert);
      again->setOperand(0, moved);
      again->setAttr(dist::kShardingsAttr, builder.getArrayAttr({to}));
      repeated.insert(convert);
      return again->getResult(0);
    }
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfterValue(value);
    auto op = builder.create<dist::ReshardOp>(value.getLoc(), value.getType(), value, from, to, builder.getStringAttr(reason.text));
    annotateReason(op, reason);
    op->setAttr(dist::kShardingsAttr, builder.getArrayAttr({to}));
    return op;
  }

  /// Inputs are stored as the whole batch of a replica; everything but the prologue takes one microbatch of it.
  void takeMicrobatches() {
    for (auto program : module.getOps<graph::ProgramOp>())
      for (Value argument : program.getBody().getArguments()) {
        Placement placement = analysis.placementOf(argument);
        auto stored = analysis.spell(argument, placement, false), taken = analysis.spell(argument, placement, true);
        if (stored == taken)
          continue;
        auto usesMicrobatch = [&](OpOperand &use) {
          auto call = dyn_cast<graph::CallOp>(use.getOwner());
          return !call || !module.lookupSymbol(call.getCallee())->hasAttr(kPrologueAttr);
        };
        if (llvm::none_of(argument.getUses(), usesMicrobatch))
          continue;
        Value microbatch = reshard(argument, stored, taken, {"one microbatch of an input", "", {}});
        argument.replaceUsesWithIf(microbatch, [&](OpOperand &use) {
          return use.getOwner() != microbatch.getDefiningOp() && usesMicrobatch(use);
        });
      }
  }

  /// What they want is now said by shardings and reshards.
  void dropConstraints() {
    module.walk([](graph::ConstrainOp op) {
      op.replaceAllUsesWith(op.getOperand());
      op.erase();
    });
  }

  void annotate(FunctionOpInterface function) {
    bool hasMb = !function->hasAttr(kPrologueAttr);
    Block &body = function.getFunctionBody().front();
    editArgumentAttributes(function, [&](unsigned i, NamedAttrList &attributes) {
      BlockArgument argument = body.getArgument(i);
      attributes.set(dist::kShardingAttr, analysis.spell(argument, analysis.placementOf(argument), hasMb && !isInput(argument)));
    });
    for (Operation &op : body) {
      if (op.getNumResults() == 0 || op.hasAttr(dist::kShardingsAttr))
        continue;
      SmallVector<Attribute> shardings = llvm::map_to_vector(op.getResults(), [&](Value result) -> Attribute {
        return analysis.spell(result, analysis.placementOf(result), hasMb);
      });
      op.setAttr(dist::kShardingsAttr, ArrayAttr::get(op.getContext(), shardings));
    }
    editResultAttributes(function, [&](unsigned i, NamedAttrList &attributes) {
      attributes.set(dist::kShardingAttr, shardingOf(body.getTerminator()->getOperand(i)));
    });
  }

  static dist::ShardingAttr shardingOf(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          .getArgAttrOfType<dist::ShardingAttr>(argument.getArgNumber(), dist::kShardingAttr);
    auto shardings = value.getDefiningOp()->getAttrOfType<ArrayAttr>(dist::kShardingsAttr);
    return cast<dist::ShardingAttr>(shardings[cast<OpResult>(value).getResultNumber()]);
  }

  ModuleOp module;
  const ShardingAnalysis &analysis;
  const Reasons &reasons;
  dist::MeshAttr mesh;
  SetVector<Operation *> repeated; ///< conversions that parts meet before
};

struct PropagateShardingsPass : shard::impl::PropagateShardingsBase<PropagateShardingsPass> {
  using PropagateShardingsBase::PropagateShardingsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    DimClasses classes(module);
    if (microbatches == 0)
      microbatches = defaultMicrobatches(classes);
    classes.splitOver(tp);
    auto meshFor = [&](ArrayRef<bool> cut) { return dist::MeshAttr::get(&getContext(), tp, pp, dp, microbatches, classes.minorRanks(tp, cut)); };
    auto mesh = meshFor(SmallVector<bool>(classes.size(), true));
    if (failed(checkBatch(module, classes)))
      return signalPassFailure();
    FailureOr<UserShardings> user = readUserShardings(module, classes, mesh, plan);
    if (failed(user) || (cutSequence != "auto" && failed(fixSequence(module, classes, *user, cutSequence == "on"))))
      return signalPassFailure();
    ShardingOptions options{mesh, {}, {linkBytesPerSecond, linkLatencySeconds}, memoryBytesPerSecond, &user->constraints};
    SmallVector<bool> cut = options.cut = chooseTensorParallel(module, classes, options, *user);
    mesh = options.mesh = meshFor(cut);
    ShardingAnalysis analysis(module, classes, options);
    // In this order: where no choice can be right the search finds nothing to cut, and the analysis knows why.
    if (failed(analysis.run()) || failed(checkTensorParallel(module, classes, cut)))
      return signalPassFailure();
    ShardingWriter(module, analysis, Reasons(module, classes, analysis, cut), mesh).write();
    module->setAttr(dist::kClassesAttr, describeClasses(module, classes, cut, dp));
    markBatch(module, classes);
  }

  /// Decides whether tp cuts the sequence.
  LogicalResult fixSequence(ModuleOp module, const DimClasses &classes, UserShardings &user, bool isCut) {
    for (auto program : module.getOps<graph::ProgramOp>())
      for (BlockArgument argument : program.getBody().getArguments()) {
        int cls = tensorType(argument).getRank() > 1 ? classes.classOf(argument, 1) : DimClasses::kNone;
        if (!classes.isSequence(cls))
          continue;
        if (user.fixed[cls].value_or(isCut) != isCut)
          return emitError(argument.getLoc()) << "an annotation " << (isCut ? "keeps the sequence whole over tp, which --sequence-parallel=on forbids" : "shards the sequence over tp, which --sequence-parallel=off forbids")
                                              << "; leave out one of them";
        user.fixed[cls] = isCut;
      }
    return success();
  }

  /// Files hold the whole batch: along which dimension of an input, cut or not.
  void markBatch(ModuleOp module, const DimClasses &classes) {
    for (auto program : module.getOps<graph::ProgramOp>())
      for (BlockArgument argument : program.getBody().getArguments()) {
        auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
        if (!role || role.getValue() != "input")
          continue;
        for (int64_t d = tensorType(argument).getRank() - 1; d >= 0; --d)
          if (classes.batchClass() != DimClasses::kNone && classes.classOf(argument, d) == classes.batchClass())
            program.setArgAttr(argument.getArgNumber(), kBatchDimAttr, Builder(&getContext()).getI64IntegerAttr(d));
      }
  }

  /// One without a pipeline; with one the largest divisor of the replica's batch that is not above twice the stages.
  int64_t defaultMicrobatches(const DimClasses &classes) {
    int64_t batch = classes.batchClass() == DimClasses::kNone ? 1 : classes.unitsOf(classes.batchClass()) / dp;
    int64_t count = pp == 1 ? 1 : std::min<int64_t>(2 * pp, batch);
    while (count > 1 && batch % count)
      --count;
    return std::max<int64_t>(count, 1);
  }

  /// Each rank of tp must hold a part of something.
  LogicalResult checkTensorParallel(ModuleOp module, const DimClasses &classes, ArrayRef<bool> cut) {
    int64_t most = mostParts(classes, cut, tp);
    auto programs = module.getOps<graph::ProgramOp>();
    if (tp <= most || programs.empty())
      return success();
    return (*programs.begin()).emitError() << "tp=" << int64_t(tp) << " ranks, but the dimensions of the parameters fall into at most "
                                           << most << " parts; use a mesh with tp of at most " << most;
  }

  /// The batch must fall into equal parts: every microbatch of every replica has the same shape.
  LogicalResult checkBatch(ModuleOp module, const DimClasses &classes) {
    int64_t parts = dp * microbatches;
    auto programs = module.getOps<graph::ProgramOp>();
    if (parts == 1 || programs.empty())
      return success();
    graph::ProgramOp program = *programs.begin();
    if (classes.batchClass() == DimClasses::kNone)
      return program.emitError() << "no input has a batch dimension that dp=" << int64_t(dp) << " and " << int64_t(microbatches)
                                 << " microbatches could cut; use dp=1 and --microbatches=1";
    int64_t batch = classes.unitsOf(classes.batchClass());
    if (batch % parts == 0)
      return success();
    InFlightDiagnostic error = program.emitError();
    error << "batch of " << batch << " does not fall into dp=" << int64_t(dp) << " replicas of " << int64_t(microbatches)
          << " equal microbatches; sizes that work: dp x microbatches = ";
    SmallVector<int64_t> divisors;
    for (int64_t n = 1; n <= batch; ++n)
      if (batch % n == 0)
        divisors.push_back(n);
    llvm::interleaveComma(divisors, error);
    return error;
  }
};
} // namespace
