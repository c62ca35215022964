// Every operation compiled and run, against the interpreter: each block of Inputs/blocks.mlir becomes a program of one task that calls it.
//
// Float arguments are normal numbers, integer ones lie in [0, 8) or in the `test.range` of the argument; results are compared in the precision of their type.
#include "CompiledProgram.h"
#include "dialects/Graph/Interpreter.h"
#include "dialects/Pipe/PipeOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace p3d;

namespace {
double fromBFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}
uint16_t toBFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

unsigned bytesOf(Type element) { return std::max(8u, element.getIntOrFloatBitWidth()) / 8; }

void storeElement(graph::Tensor &tensor, int64_t i, char *memory) {
  char *to = memory + i * bytesOf(tensor.elementType);
  if (tensor.elementType.isBF16()) {
    uint16_t bits = toBFloat(tensor.floats[i]);
    std::memcpy(to, &bits, 2);
    tensor.floats[i] = fromBFloat(bits);
  } else if (tensor.elementType.isF32()) {
    float value = tensor.floats[i];
    std::memcpy(to, &value, 4);
    tensor.floats[i] = value;
  } else {
    std::memcpy(to, &tensor.ints[i], bytesOf(tensor.elementType));
  }
}

double loadElement(Type element, int64_t i, const char *memory) {
  const char *from = memory + i * bytesOf(element);
  if (element.isBF16()) {
    uint16_t bits;
    std::memcpy(&bits, from, 2);
    return fromBFloat(bits);
  }
  if (element.isF32()) {
    float value;
    std::memcpy(&value, from, 4);
    return value;
  }
  int64_t value = 0;
  std::memcpy(&value, from, bytesOf(element));
  return graph::wrapInteger(value, element);
}

graph::Tensor randomTensor(RankedTensorType type, ArrayAttr range, std::mt19937 &random) {
  graph::Tensor tensor(type);
  std::normal_distribution<double> normal;
  int64_t low = 0, high = type.getElementType().isInteger(1) ? 2 : 8;
  if (range)
    low = cast<IntegerAttr>(range[0]).getInt(), high = cast<IntegerAttr>(range[1]).getInt();
  std::uniform_int_distribution<int64_t> integers(low, high - 1);
  for (double &value : tensor.floats)
    value = range ? low + (high - low) * std::abs(std::fmod(normal(random), 1.0)) : normal(random);
  for (int64_t &value : tensor.ints)
    value = integers(random);
  return tensor;
}

/// A stage whose prologue calls `block` on inputs a0, a1 ... and keeps its results in r0, r1 ...
void addStage(graph::BlockOp block) {
  OpBuilder builder(block.getContext());
  builder.setInsertionPointAfter(block);
  auto stage = builder.create<pipe::StageOp>(block.getLoc(), "stage0", 0, ArrayRef<int64_t>{0, 0});
  stage.setOrderAttr(builder.getStrArrayAttr({"P"}));
  builder.setInsertionPointToStart(&stage.getBody().front());
  auto addBuffers = [&](TypeRange types, StringRef prefix, pipe::BufferKind kind) {
    for (auto [i, type] : llvm::enumerate(types))
      builder.create<pipe::BufferOp>(block.getLoc(), (prefix + Twine(i)).str(), kind, type, TypeAttr());
  };
  addBuffers(block.getArgumentTypes(), "a", pipe::BufferKind::Input);
  addBuffers(block.getResultTypes(), "r", pipe::BufferKind::Complete);
  auto task = builder.create<pipe::TaskOp>(block.getLoc(), pipe::TaskKind::Prologue);
  builder.setInsertionPointToStart(&task.getBody().front());
  SmallVector<Value> inputs;
  for (auto [i, type] : llvm::enumerate(block.getArgumentTypes()))
    inputs.push_back(builder.create<pipe::ReadOp>(block.getLoc(), type, "a" + std::to_string(i)));
  auto call = builder.create<graph::CallOp>(block.getLoc(), block.getResultTypes(), block.getSymName(), inputs, IntegerAttr());
  for (auto [i, value] : llvm::enumerate(call.getResults()))
    builder.create<pipe::WriteOp>(block.getLoc(), value, "r" + std::to_string(i));
}

std::vector<graph::Tensor> interpretBlock(graph::BlockOp block, const std::vector<graph::Tensor> &inputs) {
  llvm::DenseMap<Value, graph::Tensor> values;
  for (auto [argument, tensor] : llvm::zip(block.getBody().front().getArguments(), inputs))
    values[argument] = tensor;
  for (Operation &op : block.getBody().front().without_terminator()) {
    std::vector<const graph::Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values[operand]);
    auto results = graph::evaluate(&op, operands);
    EXPECT_TRUE(succeeded(results));
    for (auto [value, tensor] : llvm::zip(op.getResults(), *results))
      values[value] = tensor;
  }
  std::vector<graph::Tensor> results;
  for (Value value : block.getBody().front().getTerminator()->getOperands())
    results.push_back(values[value]);
  return results;
}

void compare(const graph::Tensor &expected, const char *memory, StringRef name, size_t number) {
  bool isFloat = expected.isFloat();
  double tolerance = expected.elementType.isBF16() ? 2e-2 : isFloat ? 2e-5 : 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    double want = isFloat ? expected.floats[i] : expected.ints[i], got = loadElement(expected.elementType, i, memory);
    bool same = want == got || (std::isnan(want) && std::isnan(got)) ||
                std::abs(want - got) <= tolerance * std::max(1.0, std::abs(want));
    ASSERT_TRUE(same) << name.str() << ": element " << i << " of result " << number << " is " << got << ", expected " << want;
  }
}

void runBlock(graph::BlockOp block) {
  SCOPED_TRACE(block.getSymName().str());
  std::mt19937 random(7);
  OwningOpRef<ModuleOp> module(ModuleOp::create(block.getLoc()));
  (*module)->setAttr(dist::kMeshAttr, dist::MeshAttr::get(block.getContext(), 1, 1, 1, 1, 1));
  auto copy = cast<graph::BlockOp>(block->clone());
  module->push_back(copy);
  addStage(copy);
  test::CompiledProgram program(*module);
  ASSERT_TRUE(program.isLoaded()) << program.error();
  std::vector<graph::Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(block.getArgumentTypes())) {
    auto range = block.getArgAttrOfType<ArrayAttr>(i, "test.range");
    inputs.push_back(randomTensor(cast<RankedTensorType>(type), range, random));
    for (int64_t k = 0; k < inputs.back().size(); ++k)
      storeElement(inputs.back(), k, program.buffer("a" + std::to_string(i)));
  }
  program.runStep();
  auto expected = interpretBlock(block, inputs);
  for (size_t i = 0; i < expected.size(); ++i)
    compare(expected[i], program.buffer("r" + std::to_string(i)), block.getSymName(), i);
}

TEST(Blocks, MatchTheInterpreter) {
  MLIRContext context;
  DialectRegistry registry;
  test::registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceFile<ModuleOp>(P3D_INPUTS "/blocks.mlir", &context);
  ASSERT_TRUE(module);
  for (auto block : module->getOps<graph::BlockOp>())
    runBlock(block);
}
} // namespace
