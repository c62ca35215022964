// The interpreter: exact integers, clamps and edges by hand; named operations against their definition in generic ones.
#include "Programs.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace p3d::graph;

namespace {
/// The program of one operation.
std::string programText(StringRef arguments, StringRef body, StringRef yielded, StringRef types) {
  return ("graph.program @p(" + arguments + ") -> (" + types + ") {\n" + body + "\n graph.yield " + yielded + " : " + types + "\n}").str();
}

/// What the interpreter says of a program that it does not run.
std::string complaint(ModuleOp module, ArrayRef<Tensor> inputs) {
  std::string text;
  ScopedDiagnosticHandler handler(&testContext(), [&](Diagnostic &diagnostic) { text += diagnostic.str(); });
  EXPECT_TRUE(failed(interpret(programOf(module), inputs)));
  return text;
}

void expectNear(const Tensor &found, const Tensor &expected) {
  ASSERT_EQ(found.shape, expected.shape);
  for (size_t i = 0; i < expected.floats.size(); ++i)
    EXPECT_NEAR(found.floats[i], expected.floats[i], 1e-12 * std::max(1.0, std::fabs(expected.floats[i]))) << "element " << i;
  EXPECT_EQ(found.ints, expected.ints);
}
} // namespace

TEST(Interpreter, UnsignedArithmeticWraps) {
  auto results = run(programText("%a: tensor<2xui32>, %b: tensor<2xui32>", R"(
    %s = graph.add %a, %b : tensor<2xui32>
    %p = graph.mul %a, %b : tensor<2xui32>
    %l = graph.shift_left %a, %b : tensor<2xui32>
    %r = graph.shift_right %a, %b : tensor<2xui32>)",
                                 "%s, %p, %l, %r", "tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>"),
                     {ints("ui32", {2}, {0xffffffff, 0x80000001}), ints("ui32", {2}, {2, 31})});
  EXPECT_EQ(results[0].ints, (std::vector<int64_t>{1, 0x80000020}));
  EXPECT_EQ(results[1].ints, (std::vector<int64_t>{0xfffffffe, 0x8000001f}));
  EXPECT_EQ(results[2].ints, (std::vector<int64_t>{0xfffffffc, 0x80000000}));
  EXPECT_EQ(results[3].ints, (std::vector<int64_t>{0x3fffffff, 1}));
}

TEST(Interpreter, SignedDivisionTruncatesAndZeroDivisorFollowsXla) {
  auto results = run(programText("%a: tensor<3xi32>, %b: tensor<3xi32>", R"(
    %q = graph.div %a, %b : tensor<3xi32>
    %r = graph.rem %a, %b : tensor<3xi32>)",
                                 "%q, %r", "tensor<3xi32>, tensor<3xi32>"),
                     {ints("i32", {3}, {-7, 5, INT32_MIN}), ints("i32", {3}, {2, 0, -1})});
  EXPECT_EQ(results[0].ints, (std::vector<int64_t>{-3, -1, INT32_MIN}));
  EXPECT_EQ(results[1].ints, (std::vector<int64_t>{-1, 5, 0}));
}

TEST(Interpreter, ConversionTruncatesAndSaturates) {
  auto results = run(programText("%a: tensor<4xf32>", R"(
    %i = graph.convert %a : (tensor<4xf32>) -> tensor<4xi8>
    %u = graph.convert %a : (tensor<4xf32>) -> tensor<4xui8>
    %b = graph.convert %a : (tensor<4xf32>) -> tensor<4xi1>)",
                                 "%i, %u, %b", "tensor<4xi8>, tensor<4xui8>, tensor<4xi1>"),
                     {floats({4}, {-1.9, 300, 0, NAN})});
  EXPECT_EQ(results[0].ints, (std::vector<int64_t>{-1, 127, 0, 0}));
  EXPECT_EQ(results[1].ints, (std::vector<int64_t>{0, 255, 0, 0}));
  EXPECT_EQ(results[2].ints, (std::vector<int64_t>{1, 1, 0, 1}));
}

TEST(Interpreter, GatherClampsAndEmbeddingCountsFromTheEnd) {
  auto results = run(programText("%x: tensor<3x2xf32>, %ids: tensor<3xi32>", R"(
    %g = graph.gather %x, %ids {axis = 0 : i64, batch_dims = 0 : i64} : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
    %e = graph.embedding %x, %ids : (tensor<3x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>)",
                                 "%g, %e", "tensor<3x2xf32>, tensor<3x2xf32>"),
                     {floats({3, 2}, {0, 1, 2, 3, 4, 5}), ints("i32", {3}, {-1, 1, 9})});
  EXPECT_EQ(results[0].floats, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(results[1].floats, (std::vector<double>{4, 5, 2, 3, 4, 5}));
}

TEST(Interpreter, PadHasInteriorAndNegativeEdges) {
  auto results = run(programText("%x: tensor<3xf32>, %v: tensor<f32>", R"(
    %p = graph.pad %x, %v low [-1] high [2] interior [1] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>)",
                                 "%p", "tensor<6xf32>"),
                     {floats({3}, {1, 2, 3}), floats({}, {9})});
  EXPECT_EQ(results[0].floats, (std::vector<double>{9, 2, 9, 3, 9, 9}));
}

TEST(Interpreter, TopKKeepsTheOrderOfEqualElements) {
  auto results = run(programText("%x: tensor<4xf32>", R"(
    %v, %i = graph.top_k %x {k = 3 : i64} : (tensor<4xf32>) -> (tensor<3xf32>, tensor<3xi32>))",
                                 "%v, %i", "tensor<3xf32>, tensor<3xi32>"),
                     {floats({4}, {1, 5, 5, 2})});
  EXPECT_EQ(results[0].floats, (std::vector<double>{5, 5, 2}));
  EXPECT_EQ(results[1].ints, (std::vector<int64_t>{1, 2, 3}));
}

TEST(Interpreter, EinsumSumsLettersOfOneOperand) {
  auto results = run(programText("%a: tensor<2x3xf32>, %b: tensor<2xf32>", R"(
    %r = graph.einsum "ij,i->i" %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>)",
                                 "%r", "tensor<2xf32>"),
                     {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({2}, {10, 100})});
  EXPECT_EQ(results[0].floats, (std::vector<double>{60, 1500}));
}

TEST(Interpreter, CumulativeRunsBothWays) {
  auto results = run(programText("%a: tensor<2x3xf32>", R"(
    %f = graph.cumulative sum %a {dim = 1 : i64} : tensor<2x3xf32>
    %r = graph.cumulative max %a {dim = 1 : i64, reverse} : tensor<2x3xf32>)",
                                 "%f, %r", "tensor<2x3xf32>, tensor<2x3xf32>"),
                     {floats({2, 3}, {1, 2, 3, 6, 4, 5})});
  EXPECT_EQ(results[0].floats, (std::vector<double>{1, 3, 6, 6, 10, 15}));
  EXPECT_EQ(results[1].floats, (std::vector<double>{3, 3, 3, 6, 5, 5}));
}

TEST(Interpreter, RoundToTypeRoundsEachResult) {
  auto module = parseModule(programText("%a: tensor<1xf32>", R"(
    %b = graph.convert %a : (tensor<1xf32>) -> tensor<1xbf16>)", "%b", "tensor<1xbf16>"));
  InterpretOptions options;
  EXPECT_EQ((*interpret(programOf(*module), floats({1}, {1.001}), options))[0].floats[0], 1.001);
  options.roundToType = true;
  EXPECT_EQ((*interpret(programOf(*module), floats({1}, {1.001}), options))[0].floats[0], 1.0);
}

TEST(Interpreter, AttentionIsSoftmaxOfMaskedScores) {
  auto f32 = [](ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, Float32Type::get(&testContext())); };
  Tensor q = randomTensor(f32({2, 3, 4, 2}), -1, 1, 1), k = randomTensor(f32({2, 5, 2, 2}), -1, 1, 2),
         v = randomTensor(f32({2, 5, 2, 2}), -1, 1, 3), mask = randomTensor(f32({2, 1, 3, 5}), -1, 1, 4);
  auto results = run(R"(graph.program @p(%q: tensor<2x3x4x2xf32>, %k: tensor<2x5x2x2xf32>, %v: tensor<2x5x2x2xf32>, %m: tensor<2x1x3x5xf32>)
      -> (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) {
    %y, %lse = graph.attention %q, %k, %v mask %m {scale = 0.5 : f64, causal, masked_value = -1.0e9 : f64}
        : (tensor<2x3x4x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x1x3x5xf32>) -> (tensor<2x3x4x2xf32>, tensor<2x4x3xf32>)
    %qg = graph.reshape %q : (tensor<2x3x4x2xf32>) -> tensor<2x3x2x2x2xf32>
    %s = graph.einsum "bskgd,btkd->bkgst" %qg, %k : (tensor<2x3x2x2x2xf32>, tensor<2x5x2x2xf32>) -> tensor<2x2x2x3x5xf32>
    %half = graph.constant dense<0.5> : tensor<2x2x2x3x5xf32>
    %scaled = graph.mul %s, %half : tensor<2x2x2x3x5xf32>
    %m4 = graph.reshape %m : (tensor<2x1x3x5xf32>) -> tensor<2x3x5xf32>
    %mb = graph.broadcast %m4 dims [0, 3, 4] : (tensor<2x3x5xf32>) -> tensor<2x2x2x3x5xf32>
    %sum = graph.add %scaled, %mb : tensor<2x2x2x3x5xf32>
    %i = graph.iota {dim = 3 : i64} : tensor<2x2x2x3x5xi32>
    %j = graph.iota {dim = 4 : i64} : tensor<2x2x2x3x5xi32>
    %two = graph.constant dense<2> : tensor<2x2x2x3x5xi32>
    %last = graph.add %i, %two : tensor<2x2x2x3x5xi32>
    %sees = graph.compare le %j, %last : (tensor<2x2x2x3x5xi32>, tensor<2x2x2x3x5xi32>) -> tensor<2x2x2x3x5xi1>
    %low = graph.constant dense<-1.0e9> : tensor<2x2x2x3x5xf32>
    %masked = graph.select %sees, %sum, %low : (tensor<2x2x2x3x5xi1>, tensor<2x2x2x3x5xf32>, tensor<2x2x2x3x5xf32>) -> tensor<2x2x2x3x5xf32>
    %p = graph.softmax %masked : tensor<2x2x2x3x5xf32>
    %o = graph.einsum "bkgst,btkd->bskgd" %p, %v : (tensor<2x2x2x3x5xf32>, tensor<2x5x2x2xf32>) -> tensor<2x3x2x2x2xf32>
    %r = graph.reshape %o : (tensor<2x3x2x2x2xf32>) -> tensor<2x3x4x2xf32>
    graph.yield %y, %r : tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>
  })", {q, k, v, mask});
  expectNear(results[0], results[1]);
}

TEST(Interpreter, CrossEntropyOutsideTargetSelectsNothing) {
  auto results = run(programText("%x: tensor<2x3xf32>, %t: tensor<2xi32>", R"(
    %loss, %max, %sum = graph.softmax_cross_entropy %x, %t
        : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>))",
                                 "%loss, %max", "tensor<2xf32>, tensor<2xf32>"),
                     {floats({2, 3}, {1, 2, 3, 1, 2, 3}), ints("i32", {2}, {0, -100})});
  double lse = 3 + std::log(1 + std::exp(-1) + std::exp(-2));
  expectNear(results[0], floats({2}, {lse - 1, lse}));
  expectNear(results[1], floats({2}, {3, 3}));
}

TEST(Interpreter, RopeRotatesHalves) {
  auto results = run(programText("%x: tensor<1x1x1x4xf32>, %c: tensor<1x4xf32>, %s: tensor<1x4xf32>", R"(
    %r = graph.rope %x, %c, %s : (tensor<1x1x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1x1x4xf32>)",
                                 "%r", "tensor<1x1x1x4xf32>"),
                     {floats({1, 1, 1, 4}, {1, 2, 3, 4}), floats({1, 4}, {1, 1, 1, 1}), floats({1, 4}, {10, 100, 10, 100})});
  expectNear(results[0], floats({1, 1, 1, 4}, {1 - 30, 2 - 400, 3 + 10, 4 + 200}));
}

TEST(Interpreter, RefusesInputsOfOtherTypes) {
  auto module = parseModule(programText("%a: tensor<1xf32>", "", "%a", "tensor<1xf32>"));
  EXPECT_EQ(complaint(*module, floats({2}, {1, 2})),
            "'graph.program' op argument 0 of type 'tensor<1xf32>' is given 'tensor<2xf32>'");
}

TEST(Interpreter, RefusesAnotherNumberOfInputs) {
  auto module = parseModule(programText("%a: tensor<1xf32>", "", "%a", "tensor<1xf32>"));
  EXPECT_EQ(complaint(*module, {}), "'graph.program' op is given 0 inputs, expected 1");
}

TEST(Interpreter, RefusesOperationsOfOtherDialects) {
  auto module = parseModule(programText("%a: tensor<1xf32>", R"(
    %b = builtin.unrealized_conversion_cast %a : tensor<1xf32> to tensor<1xf32>)", "%b", "tensor<1xf32>"));
  EXPECT_EQ(complaint(*module, floats({1}, {1})), "'builtin.unrealized_conversion_cast' op has no meaning in the interpreter");
}

TEST(Interpreter, RefusesConstantsWithoutElements) {
  auto module = parseModule(programText("", R"(
    %b = graph.constant dense_resource<__elided__> : tensor<1xf32>)", "%b", "tensor<1xf32>"));
  EXPECT_EQ(complaint(*module, {}),
            "'graph.constant' op holds its elements in a form that cannot be read; write them as dense<..>");
}
