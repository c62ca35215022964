// Modules of the level partition, interpreted on all ranks: models give what the step gives before it is cut, and what ranks must not do is an error.
#include "compiler/ClusterOption.h"
#include "compiler/Options.h"
#include "compiler/Pipeline.h"
#include "compiler/ProgramTensors.h"
#include "compiler/Registration.h"
#include "compiler/SpmdInterpreter.h"
#include "compiler/Verification.h"
#include "dialects/Dist/DistOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace p3d;
using graph::Tensor;
using graph::Tensors;

namespace {
/// Sums in another order are all that differs. A gradient is compared with its own norm or this part of the norm of all.
constexpr double kTolerance = 1e-12;

MLIRContext &testContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerDialects(registry);
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->allowUnregisteredDialects();
    return made;
  }();
  return *context;
}

/// Runs the levels (from, to]; `from` may be empty.
LogicalResult runLevels(ModuleOp module, StringRef from, StringRef to, const Options &options) {
  PassManager passes(module.getContext());
  bool started = from.empty();
  for (const Level &level : levels()) {
    if (started)
      level.build(passes, options);
    started |= from == level.name;
    if (to == level.name)
      break;
  }
  return passes.run(module);
}

graph::ProgramOp programOf(ModuleOp module) { return *module.getOps<graph::ProgramOp>().begin(); }

struct Case {
  const char *model;
  Mesh mesh;
  int64_t microbatches;
  const char *sequenceParallel = "auto";
};

void PrintTo(const Case &tested, std::ostream *stream) {
  *stream << tested.model << " " << tested.mesh.tp << "x" << tested.mesh.pp << "x" << tested.mesh.dp << " mb=" << tested.microbatches << " " << tested.sequenceParallel;
}

class Models : public testing::TestWithParam<Case> {};

TEST_P(Models, GiveTheResultsOfOneDevice) {
  const Case &tested = GetParam();
  std::string stem = std::string(P3D_INPUTS) + "/" + tested.model;
  Options options;
  options.optimizer = "adamw";
  options.mesh = tested.mesh;
  options.cluster = llvm::cantFail(readCluster(defaultCluster(/*forCuda=*/false), tested.mesh));
  options.microbatches = tested.microbatches;
  options.sequenceParallel = tested.sequenceParallel;
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(stem + ".mlir", &testContext());
  ASSERT_TRUE(module && succeeded(runLevels(*module, "", "autodiff", options)));
  llvm::Expected<std::vector<Tensor>> inputs = argumentsFrom(programOf(*module), {stem + ".safetensors"});
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  FailureOr<Tensors> expected = graph::interpret(programOf(*module), *inputs);
  ASSERT_TRUE(succeeded(expected));
  ASSERT_TRUE(succeeded(runLevels(*module, "autodiff", "partition", options)));
  FailureOr<Tensors> found = interpretSpmd(*module, *inputs);
  ASSERT_TRUE(succeeded(found));
  NamedTensors right = namedResults(programOf(*module), *expected), is = namedResults(programOf(*module), *found);
  std::vector<Difference> differences = compareResults(right, is, {kTolerance, kTolerance, kTolerance});
  EXPECT_GT(differences.size(), 2u);
  for (const Difference &difference : differences)
    EXPECT_TRUE(difference.isFine()) << difference.what << ": " << difference.error;
}

INSTANTIATE_TEST_SUITE_P(Meshes, Models,
                         testing::Values(Case{"gpt2_tiny", {2, 1, 1}, 1}, Case{"gpt2_tiny", {4, 1, 1}, 2}, Case{"gpt2_tiny", {2, 1, 2}, 2, "on"},
                                         Case{"gpt2_tiny_oddvocab", {4, 1, 1}, 1}, Case{"gpt2_tiny_oddvocab", {2, 1, 2}, 2}, Case{"llama_tiny", {4, 1, 1}, 1},
                                         Case{"llama_tiny", {2, 1, 2}, 2}, Case{"llama_tiny", {3, 1, 1}, 1}, Case{"mixtral_tiny", {2, 1, 2}, 1},
                                         Case{"mixtral_tiny", {4, 1, 1}, 1},
                                         Case{"mixtral_tiny", {4, 1, 2}, 1, "on"}, Case{"llama_tiny", {8, 1, 1}, 2}, Case{"bert_tiny_mlm", {2, 1, 2}, 2}));

/// What a module says, on inputs 0, 1, 2 ... of its arguments' whole types.
class Faults : public testing::Test {
protected:
  std::string faultOf(StringRef text, size_t missing = 0) {
    std::string message;
    ScopedDiagnosticHandler handler(&testContext(), [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &testContext());
    if (!module)
      return message;
    Tensors inputs;
    graph::ProgramOp program = programOf(*module);
    for (unsigned i = 0; i < program.getNumArguments(); ++i) {
      auto type = program.getArgAttrOfType<TypeAttr>(i, dist::kGlobalTypeAttr);
      inputs.emplace_back(cast<RankedTensorType>(type ? type.getValue() : program.getArgumentTypes()[i]));
      for (auto [at, element] : llvm::enumerate(inputs.back().floats))
        element = at;
    }
    inputs.resize(inputs.size() - missing);
    return succeeded(interpretSpmd(*module, inputs)) ? "no error" : message;
  }

  /// A program on a mesh of 2 x 2 and 2 microbatches whose argument, of 4 elements, tp cuts, and whose body gives %r of `type`, lying as `sharding` says.
  std::string faultOf(StringRef body, StringRef type, StringRef sharding, StringRef name = "loss") {
    return faultOf(("module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 2>} {\n"
                    "graph.program @p(%x: tensor<2xf32> {dist.sharding = #dist.sharding<[{tp:2}]>, dist.global_type = tensor<4xf32>})\n"
                    "    -> (tensor<" + type + "xf32> {dist.sharding = #dist.sharding<[" + sharding + "]>, dist.global_type = tensor<4xf32>, graph.name = \"" + name +
                    "\"}) {\n" + body + "\n graph.yield %r : tensor<" + type + "xf32>\n}}").str());
  }
};

TEST_F(Faults, Collectives) {
  EXPECT_EQ(faultOf("%r = dist.all_gather %x dim 0 over tp why \"\" : (tensor<2xf32>) -> tensor<4xf32>", "4", "{}"), "no error");
  EXPECT_EQ(faultOf("%g = dist.all_reduce sum %x over tp why \"\" : tensor<2xf32>\n %r = graph.concat %g, %g {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>",
                    "4", "{}"), "no error");
  EXPECT_EQ(faultOf("%r = dist.all_reduce sum %x over mb why \"\" : tensor<2xf32>", "2", "{tp:2}"),
            "'dist.all_reduce' op moves values between microbatches, which are turns of one program; only their results are reduced");
}

TEST_F(Faults, Results) {
  EXPECT_EQ(faultOf("%r = graph.concat %x, %x {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>", "4", "{}"),
            "loss is replicated, but element 0 is 0.00 on tp=0 dp=0 mb=0 and 2.00 on tp=1 dp=0 mb=0");
  EXPECT_EQ(faultOf("%r = graph.slice %x [0] to [1] step [1] : (tensor<2xf32>) -> tensor<1xf32>", "1", "{tp:1}"), "loss has elements that no rank holds");
  std::string padded = "%c = graph.constant dense<1.0> : tensor<3xf32>\n %y = graph.concat %x, %c {dim = 0 : i64} : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>\n"
                       " %r = graph.slice %y [2] to [5] step [1] : (tensor<5xf32>) -> tensor<3xf32>";
  EXPECT_EQ(faultOf(padded, "3", "{tp:3}"), "no error");
  EXPECT_EQ(faultOf(padded, "3", "{tp:3}", "grads.w"), "grads.w has 1.00 in its padding on tp=1 dp=0 mb=0, expected 0");
}

TEST_F(Faults, Inputs) {
  std::string text = "graph.program @p(%x: tensor<2xf32> {dist.sharding = #dist.sharding<[{}]>, dist.global_type = tensor<2xf32>})"
                     " -> (tensor<2xf32> {dist.sharding = #dist.sharding<[{}]>, dist.global_type = tensor<2xf32>}) { graph.yield %x : tensor<2xf32> }";
  std::string meshed = "module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {" + text + "}";
  EXPECT_EQ(faultOf(StringRef(meshed)), "no error");
  EXPECT_EQ(faultOf(StringRef(text)), "has no mesh or no program; run p3d-partition first");
  EXPECT_EQ(faultOf(StringRef(meshed), 1), "'graph.program' op is given 0 inputs, expected 1");
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(meshed, &testContext());
  std::string message;
  ScopedDiagnosticHandler handler(&testContext(), [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  Tensors inputs{Tensor(ArrayRef<int64_t>{3}, Float32Type::get(&testContext()))};
  EXPECT_TRUE(failed(interpretSpmd(*module, inputs)));
  EXPECT_EQ(message, "'graph.program' op argument 0 of whole type 'tensor<2xf32>' is given 'tensor<3xf32>'");
  std::string bare = "module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {"
                     "graph.program @p(%x: tensor<2xf32>) -> (tensor<2xf32>) { graph.yield %x : tensor<2xf32> } }";
  EXPECT_EQ(faultOf(StringRef(bare)), "'graph.program' op argument 0 has no sharding and whole type; run p3d-partition first");
}
} // namespace
