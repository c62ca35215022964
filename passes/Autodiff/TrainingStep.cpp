#include "passes/Autodiff/TrainingStep.h"
#include "passes/Autodiff/Sweep.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
class TrainingStep {
public:
  TrainingStep(ProgramOp program, const BlockGradients &blocks, Activity &activity)
      : program(program), body(program.getBody().front()), blocks(blocks), activity(activity), builder(program),
        gradients(builder, [&](Value value) { return activity.wanted.contains(value); }) {}

  LogicalResult build(StringRef optimizer);

private:
  void callForwardBlocks();
  bool computesInF16();
  Value seedOf(Value loss);
  LogicalResult differentiate();
  LogicalResult differentiateCall(CallOp call, ResultGradients d, Gradients &g);
  void addGradientResults(ArrayRef<BlockArgument> parameters);
  void addUpdates(ArrayRef<BlockArgument> parameters, StringRef optimizer);
  DictionaryAttr gradientAttributes(BlockArgument parameter);
  bool decays(BlockArgument parameter);

  ProgramOp program;
  Block &body;
  const BlockGradients &blocks;
  Activity &activity;
  OpBuilder builder;
  Gradients gradients;
  /// The block of each forward call, and the values that it saves.
  DenseMap<Operation *, const BlockGradient *> blockOf;
};
} // namespace

/// Calls of @b become calls of @b.fwd.
void TrainingStep::callForwardBlocks() {
  for (CallOp call : llvm::to_vector(body.getOps<CallOp>())) {
    const BlockGradient &block = blocks.find(call.getCallee())->second;
    builder.setInsertionPoint(call);
    BlockOp forward = block.forward;
    auto made = builder.create<CallOp>(call.getLoc(), forward.getResultTypes(), forward.getName(), call.getInputs(),
                                       call.getLayerAttr());
    made->setDiscardableAttrs(llvm::to_vector(call->getDiscardableAttrs()));
    for (auto [from, to] : llvm::zip(call.getResults(), made.getResults()))
      activity.replace(from, to);
    call.replaceAllUsesWith(made.getResults().take_front(call.getNumResults()));
    call.erase();
    blockOf[made] = &block;
  }
}

/// The call of @b.bwd, with zeros for gradients that another call has and this one does not.
LogicalResult TrainingStep::differentiateCall(CallOp call, ResultGradients d, Gradients &g) {
  const BlockGradient &block = *blockOf.lookup(call);
  BlockOp backward = block.backward, forward = block.forward;
  if (!backward)
    return success();
  SmallVector<Value> operands;
  for (unsigned index : block.results)
    operands.push_back(d[index] ? d[index] : g.splatLike(call.getResult(index), 0));
  for (unsigned index : block.neededArguments)
    operands.push_back(call.getInputs()[index]);
  int64_t saves = forward->getAttrOfType<IntegerAttr>(kSavesAttr).getInt();
  llvm::append_range(operands, call.getResults().take_back(saves));
  auto made = g.create<CallOp>(backward.getResultTypes(), backward.getName(), operands, call.getLayerAttr());
  for (auto [index, gradient] : llvm::zip(block.arguments, made.getResults()))
    g.add(call.getInputs()[index], [&, value = gradient] { return value; });
  return success();
}

bool TrainingStep::computesInF16() {
  return program->getParentOp()
      ->walk([](Operation *op) {
        auto isF16 = [](Type type) { return cast<RankedTensorType>(type).getElementType().isF16(); };
        bool computes = isa_and_nonnull<GraphDialect>(op->getDialect()) && llvm::any_of(op->getResultTypes(), isF16);
        return computes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The gradient of the loss: 1, or where it would be rounded to f16, whose range is small, what the run sets.
Value TrainingStep::seedOf(Value loss) {
  Value seed;
  if (computesInF16()) {
    auto name = builder.getStringAttr(kLossScale);
    auto attributes = builder.getDictionaryAttr({{builder.getStringAttr(kNameAttr), name}, {builder.getStringAttr(kRoleAttr), name}});
    unsigned index = program.getNumArguments();
    program.insertArgument(index, RankedTensorType::get({}, builder.getF32Type()), attributes, program.getLoc());
    seed = gradients.convert(body.getArgument(index), tensorType(loss).getElementType());
  } else {
    seed = gradients.splatLike(loss, 1);
  }
  Operation *source = loss.getDefiningOp();
  if (seed.getDefiningOp() && source)
    seed.getDefiningOp()->setAttr(kOfAttr, source->getAttr(kIdAttr));
  return seed;
}

LogicalResult TrainingStep::differentiate() {
  builder.setInsertionPoint(body.getTerminator());
  Value loss = body.getTerminator()->getOperand(0);
  if (gradients.wants(loss))
    gradients.add(loss, seedOf(loss));
  auto callRule = [&](CallOp call, ResultGradients d, Gradients &g) { return differentiateCall(call, d, g); };
  return sweepBackward(body, gradients, callRule);
}

/// The user's name below "grads.", and which piece of the user's tensor it is.
DictionaryAttr TrainingStep::gradientAttributes(BlockArgument parameter) {
  NamedAttrList attributes;
  unsigned index = parameter.getArgNumber();
  auto name = program.getArgAttrOfType<StringAttr>(index, kNameAttr);
  StringRef text = name ? name.getValue() : "";
  text.consume_front("params.");
  attributes.set(kNameAttr, builder.getStringAttr("grads." + (name ? text.str() : "arg" + std::to_string(index))));
  for (StringRef piece : {kGlobalShapeAttr, kPieceOffsetAttr, kPieceShapeAttr})
    if (Attribute value = program.getArgAttr(index, piece))
      attributes.set(piece, value);
  return attributes.getDictionary(program.getContext());
}

void TrainingStep::addGradientResults(ArrayRef<BlockArgument> parameters) {
  Operation *yield = body.getTerminator();
  SmallVector<DictionaryAttr> attributes;
  program.getAllResultAttrs(attributes);
  attributes.resize(yield->getNumOperands(), builder.getDictionaryAttr({}));
  gradients.setLocation(program.getLoc());
  for (BlockArgument parameter : parameters) {
    Value gradient = gradients.of(parameter);
    builder.setInsertionPoint(yield);
    yield->insertOperands(yield->getNumOperands(), gradient ? gradient : gradients.splatLike(parameter, 0));
    attributes.push_back(gradientAttributes(parameter));
  }
  program.removeResAttrsAttr();
  program.setType(builder.getFunctionType(body.getArgumentTypes(), yield->getOperandTypes()));
  program.setAllResultAttrs(attributes);
}

/// Weight decay is for matrices and above, by the rank of the user's tensor.
bool TrainingStep::decays(BlockArgument parameter) {
  auto global = program.getArgAttrOfType<DenseI64ArrayAttr>(parameter.getArgNumber(), kGlobalShapeAttr);
  return (global ? global.size() : tensorType(parameter).getRank()) >= 2;
}

void TrainingStep::addUpdates(ArrayRef<BlockArgument> parameters, StringRef optimizer) {
  Operation *yield = body.getTerminator();
  builder.setInsertionPoint(yield);
  auto found = yield->getOperands().take_back(parameters.size());
  for (auto [parameter, gradient] : llvm::zip(parameters, found))
    builder.create<UpdateOp>(parameter.getLoc(), optimizer, parameter, gradient, decays(parameter));
}

LogicalResult TrainingStep::build(StringRef optimizer) {
  callForwardBlocks();
  numberOperations(body);
  if (failed(differentiate()))
    return failure();
  auto parameters = llvm::to_vector(llvm::make_filter_range(body.getArguments(), isParameter));
  addGradientResults(parameters);
  eraseUnusedBackward(body);
  markGradRoles(body, gradients, activity);
  if (optimizer != "none")
    addUpdates(parameters, optimizer);
  return success();
}

LogicalResult p3d::makeTrainingStep(ProgramOp program, const BlockGradients &blocks, Activity &activity, StringRef optimizer) {
  return TrainingStep(program, blocks, activity).build(optimizer);
}
