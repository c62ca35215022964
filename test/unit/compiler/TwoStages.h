// A scheduled module of two stages, for tests of what is said about one.
#pragma once

#include "compiler/Manifest.h"
#include "compiler/Registration.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace p3d {

// tp = 2, pp = 2, dp = 2, two microbatches; each layer has one all-reduce over tp of 4 x 8 f32.
inline constexpr const char *kTwoStages = R"mlir(
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 2, dp = 2, mb = 2>} {
  graph.block @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %r = dist.all_reduce sum %y over tp why "test" : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  pipe.stage @stage0 index 0 layers [0, 1] attributes {order = ["F0", "F1", "B0", "B1", "S", "U"], slots = array<i64: 2>} {
    pipe.buffer parameter @params.w : tensor<8x8xf32> of tensor<16x8xf32> {graph.name = "params.w", graph.role = "param", dist.sharding = #dist.sharding<[{tp:8},{}]>, pipe.tied_stages = array<i64: 0, 1>}
    pipe.buffer input @batch.ids : tensor<8x3xi32> of tensor<16x3xi32> {graph.name = "batch.ids", graph.role = "input", dist.sharding = #dist.sharding<[{dp:8},{}]>}
    pipe.buffer input @batch.x : tensor<8x8xf32> of tensor<16x8xf32> {graph.name = "batch.x", graph.role = "input", dist.sharding = #dist.sharding<[{dp:8},{}]>}
    pipe.buffer gradient @grads.w : tensor<8x8xf32> {pipe.of = @params.w, pipe.tied_stages = array<i64: 0, 1>}
    pipe.task forward {
      %0 = pipe.read @batch.x : tensor<8x8xf32>
      %1 = dist.shard_slice %0 dim 0 over mb : (tensor<8x8xf32>) -> tensor<4x8xf32>
      %w = pipe.read @params.w : tensor<8x8xf32>
      %2 = graph.call @layer(%1, %w) {layer = 0} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %3 = graph.call @layer(%2, %w) {layer = 1} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      pipe.send %3 to 1 channel 0 : tensor<4x8xf32>
    }
    pipe.task backward {
      %0 = pipe.recv from 1 channel 1 : tensor<4x8xf32>
    }
    pipe.task synchronize {
      pipe.reduce_tied @grads.w stages [0, 1] group 0
      pipe.synchronize [@grads.w] over "dp" why "test"
    }
    pipe.task update {
      pipe.update "adamw" @params.w by @grads.w
    }
  }
  pipe.stage @stage1 index 1 layers [2, 2] attributes {order = ["F0", "B0", "F1", "B1", "S"], slots = array<i64: 1>} {
    pipe.buffer parameter @params.w : tensor<8x8xf32> of tensor<16x8xf32> {graph.name = "params.w", graph.role = "param", dist.sharding = #dist.sharding<[{tp:8},{}]>, pipe.tied_stages = array<i64: 0, 1>}
    pipe.buffer gradient @grads.w : tensor<8x8xf32> {pipe.of = @params.w, pipe.tied_stages = array<i64: 0, 1>}
    pipe.task forward {
      %0 = pipe.recv from 0 channel 0 : tensor<4x8xf32>
      %w = pipe.read @params.w : tensor<8x8xf32>
      %1 = graph.call @layer(%0, %w) {layer = 2} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    }
    pipe.task backward {
      %0 = graph.constant dense<1.0> : tensor<4x8xf32>
      pipe.send %0 to 0 channel 1 : tensor<4x8xf32>
    }
    pipe.task synchronize {
      pipe.reduce_tied @grads.w stages [0, 1] group 0
    }
  }
}
)mlir";

class TwoStages : public testing::Test {
protected:
  void SetUp() override {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(kTwoStages, &context);
    ASSERT_TRUE(module);
    inputs.model = "two-stages";
    inputs.schedule = "1f1b";
    inputs.cluster.nodes = 2;
    inputs.cluster.devicesPerNode = 4;
    inputs.cluster.memoryBytesPerSecond = 1e9;
    inputs.cluster.flopsPerSecond = {{"f32", 1e9}};
    inputs.cluster.inNode = inputs.cluster.betweenNodes = {1e9, 1e-6};
  }

  static std::string print(const llvm::json::Value &value) {
    std::string text;
    llvm::raw_string_ostream(text) << value;
    return text;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ManifestInputs inputs;
};

} // namespace p3d
