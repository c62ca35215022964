#include "Programs.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace p3d::graph;

MLIRContext &p3d::graph::testContext() {
  static MLIRContext *context = [] {
    auto *made = new MLIRContext(MLIRContext::Threading::DISABLED);
    made->loadDialect<GraphDialect>();
    made->allowUnregisteredDialects();
    return made;
  }();
  return *context;
}

OwningOpRef<ModuleOp> p3d::graph::parseModule(StringRef text) {
  auto module = parseSourceString<ModuleOp>(text, &testContext());
  EXPECT_TRUE(module) << text.str();
  return module;
}

ProgramOp p3d::graph::programOf(ModuleOp module) { return *module.getOps<ProgramOp>().begin(); }

Tensor p3d::graph::floats(ArrayRef<int64_t> shape, std::vector<double> elements) {
  Tensor tensor(shape, Float32Type::get(&testContext()));
  EXPECT_EQ(tensor.floats.size(), elements.size());
  tensor.floats = std::move(elements);
  return tensor;
}

Tensor p3d::graph::ints(StringRef type, ArrayRef<int64_t> shape, std::vector<int64_t> elements) {
  Tensor tensor(shape, parseType(type, &testContext()));
  EXPECT_EQ(tensor.ints.size(), elements.size());
  tensor.ints = std::move(elements);
  return tensor;
}

Tensor p3d::graph::randomTensor(RankedTensorType type, double low, double high, unsigned seed) {
  Tensor tensor(type);
  std::mt19937_64 generator(seed);
  auto next = [&] { return low + (high - low) * double(generator() >> 11) * 0x1p-53; };
  for (double &element : tensor.floats)
    element = next();
  for (int64_t &element : tensor.ints)
    element = wrapInteger(std::floor(next()), tensor.elementType);
  return tensor;
}

Tensors p3d::graph::run(StringRef text, ArrayRef<Tensor> inputs) {
  auto module = parseModule(text);
  if (!module)
    return {};
  FailureOr<Tensors> results = interpret(programOf(*module), inputs);
  EXPECT_TRUE(succeeded(results)) << text.str();
  return succeeded(results) ? *results : Tensors();
}
