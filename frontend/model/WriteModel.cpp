#include "frontend/model/WriteModel.h"
#include "frontend/model/Parts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace p3d;
using namespace p3d::model;

namespace {
constexpr StringLiteral kLayer = "layer";

class ModelWriter {
public:
  ModelWriter(MLIRContext *context, const Decoder &decoder, const Workload &load, bool scan)
      : b(context), decoder(decoder), load(load), scan(scan), layerParameters(decoder.layerParameters()) {}

  OwningOpRef<ModuleOp> write() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(b.loc(), "loss");
    b.ops().setInsertionPointToEnd(module->getBody());
    beginMain();
    std::vector<Value> carried = decoder.embed(b, weights, ids);
    std::vector<Value> shared = decoder.sharedValues(b, load);
    carried = scan ? runScanned(carried, shared) : runUnrolled(carried, shared);
    Value loss = nextTokenLoss(b, decoder.logits(b, weights, carried.front()), labels);
    if (Value more = decoder.auxiliaryLoss(b, carried))
      loss = b.add(loss, more);
    b.ops().create<func::ReturnOp>(b.loc(), loss);
    b.ops().setInsertionPointToEnd(module->getBody());
    writeLayer(carried, shared);
    return module;
  }

private:
  RankedTensorType typeFor(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, load.element); }

  std::string layerName(int64_t layer, StringRef parameter) const {
    return (decoder.layerPrefix + "." + (scan ? "" : Twine(layer) + ".") + parameter).str();
  }

  /// Opens @main with its arguments.
  void beginMain() {
    std::vector<std::pair<std::string, RankedTensorType>> arguments;
    auto append = [&](ArrayRef<Parameter> list) {
      for (const Parameter &parameter : list)
        arguments.emplace_back(parameter.name, typeFor(parameter.shape));
    };
    append(decoder.parametersBefore());
    for (int64_t layer = 0; layer < (scan ? 1 : decoder.layerCount); ++layer)
      for (const Parameter &parameter : layerParameters) {
        Shape shape = parameter.shape;
        if (scan)
          shape.insert(shape.begin(), decoder.layerCount);
        arguments.emplace_back(layerName(layer, parameter.name), typeFor(shape));
      }
    append(decoder.parametersBehind());

    SmallVector<Type> types =
        llvm::map_to_vector(arguments, [](const auto &argument) -> Type { return argument.second; });
    types.append(2, RankedTensorType::get({load.batch, load.sequence}, b.i32()));
    auto main = b.ops().create<func::FuncOp>(b.loc(), "main",
                                             b.ops().getFunctionType(types, RankedTensorType::get({}, b.f32())));
    main.setPublic();
    b.ops().setInsertionPointToStart(main.addEntryBlock());
    auto nameArgument = [&](BlockArgument argument, StringRef root, StringRef name) {
      argument.setLoc(NameLoc::get(b.ops().getStringAttr(root + "['" + name + "']")));
    };
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      nameArgument(main.getArgument(i), "params", argument.first);
      weights.add(argument.first, main.getArgument(i));
    }
    ids = main.getArgument(arguments.size());
    labels = main.getArgument(arguments.size() + 1);
    nameArgument(cast<BlockArgument>(ids), "batch", "input_ids");
    nameArgument(cast<BlockArgument>(labels), "batch", "labels");
  }

  /// A call of @layer: what is carried, what is shared, the layer's parameters.
  std::vector<Value> callLayer(ArrayRef<Value> carried, ArrayRef<Value> shared, ArrayRef<Value> parameters) {
    SmallVector<Value> operands(carried);
    llvm::append_range(operands, shared);
    llvm::append_range(operands, parameters);
    SmallVector<Type> results(ValueRange(carried).getTypes());
    auto call = b.ops().create<func::CallOp>(b.loc(), kLayer, results, operands);
    return {call->result_begin(), call->result_end()};
  }

  std::vector<Value> runUnrolled(std::vector<Value> carried, ArrayRef<Value> shared) {
    for (int64_t layer = 0; layer < decoder.layerCount; ++layer) {
      TensorBuilder::Scope scope(b, decoder.layerPrefix + "." + std::to_string(layer));
      std::vector<Value> parameters;
      for (const Parameter &parameter : layerParameters)
        parameters.push_back(weights[layerName(layer, parameter.name)]);
      carried = callLayer(carried, shared, parameters);
    }
    return carried;
  }

  /// As jax.lax.scan is written: the loop carries the counter, what goes from layer to layer, and, unchanged, all that
  /// it reads.
  std::vector<Value> runScanned(std::vector<Value> carried, ArrayRef<Value> shared) {
    TensorBuilder::Scope scope(b, decoder.layerPrefix);
    SmallVector<Value> operands{b.constant(0, b.i32())};
    llvm::append_range(operands, carried);
    llvm::append_range(operands, shared);
    for (const Parameter &parameter : layerParameters)
      operands.push_back(weights[layerName(0, parameter.name)]);
    auto loop = b.ops().create<stablehlo::WhileOp>(b.loc(), ValueRange(operands).getTypes(), operands);
    OpBuilder::InsertionGuard guard(b.ops());
    auto beginRegion = [&](Region &region) {
      SmallVector<Location> locations(operands.size(), b.loc());
      return b.ops().createBlock(&region, {}, ValueRange(operands).getTypes(), locations)->getArguments();
    };
    Value counter = beginRegion(loop.getCond()).front();
    Value isInside = b.compare(stablehlo::ComparisonDirection::LT, counter, b.constant(decoder.layerCount, b.i32()));
    b.ops().create<stablehlo::ReturnOp>(b.loc(), isInside);

    SmallVector<Value> next(beginRegion(loop.getBody()));
    ArrayRef<Value> state = next;
    std::vector<Value> parameters;
    for (Value stack : state.take_back(layerParameters.size()))
      parameters.push_back(takeLayer(stack, state.front()));
    std::vector<Value> results =
        callLayer(state.slice(1, carried.size()), state.slice(1 + carried.size(), shared.size()), parameters);
    llvm::copy(results, next.begin() + 1);
    next.front() = b.add(next.front(), b.constant(1, b.i32()));
    b.ops().create<stablehlo::ReturnOp>(b.loc(), next);
    return {loop->result_begin() + 1, loop->result_begin() + 1 + carried.size()};
  }

  /// Entry `index` of a stack [layers, ...].
  Value takeLayer(Value stack, Value index) {
    Shape sizes(typeOf(stack).getShape());
    sizes.front() = 1;
    SmallVector<Value> starts(sizes.size(), index);
    if (sizes.size() > 1)
      std::fill(starts.begin() + 1, starts.end(), b.constant(0, b.i32()));
    Value entry = b.ops().create<stablehlo::DynamicSliceOp>(b.loc(), typeFor(sizes), stack, starts, sizes);
    return b.reshape(entry, ArrayRef(sizes).drop_front());
  }

  void writeLayer(ArrayRef<Value> carried, ArrayRef<Value> shared) {
    SmallVector<Type> results(ValueRange(carried).getTypes()), types = results;
    llvm::append_range(types, ValueRange(shared).getTypes());
    for (const Parameter &parameter : layerParameters)
      types.push_back(typeFor(parameter.shape));
    auto function = b.ops().create<func::FuncOp>(b.loc(), kLayer, b.ops().getFunctionType(types, results));
    function.setPrivate();
    b.ops().setInsertionPointToStart(function.addEntryBlock());
    SmallVector<Value> arguments(function.getArguments());
    Weights inLayer;
    for (auto [parameter, value] :
         llvm::zip(layerParameters, ArrayRef<Value>(arguments).take_back(layerParameters.size())))
      inLayer.add(parameter.name, value);
    b.ops().create<func::ReturnOp>(b.loc(),
                                   decoder.layer(b, inLayer, ArrayRef<Value>(arguments).take_front(carried.size()),
                                                 ArrayRef<Value>(arguments).slice(carried.size(), shared.size())));
  }

  TensorBuilder b;
  const Decoder &decoder;
  const Workload &load;
  bool scan;
  std::vector<Parameter> layerParameters;
  Weights weights;
  Value ids, labels;
};
} // namespace

OwningOpRef<ModuleOp> model::writeModel(MLIRContext *context, const Decoder &decoder, const Workload &load, bool scan) {
  return ModelWriter(context, decoder, load, scan).write();
}

int64_t model::parameterCount(const Decoder &decoder) {
  auto count = [](ArrayRef<Parameter> list) {
    int64_t total = 0;
    for (const Parameter &parameter : list)
      total += std::accumulate(parameter.shape.begin(), parameter.shape.end(), int64_t(1), std::multiplies<int64_t>());
    return total;
  };
  return count(decoder.parametersBefore()) + decoder.layerCount * count(decoder.layerParameters()) +
         count(decoder.parametersBehind());
}
