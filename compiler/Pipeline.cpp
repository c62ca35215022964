#include "compiler/Pipeline.h"
#include "compiler/Options.h"
#include "compiler/StageCosts.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Replicate/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/ScheduleText.h"
#include "passes/Shard/Passes.h"
#include "passes/Stage/Passes.h"

using namespace mlir;
using namespace p3d;

namespace {

void buildImport(OpPassManager &passes, const Options &options) {
  // Refuses what is no loss function before any work is done on it.
  passes.addPass(createCheckInput({/*allowNonScalar=*/options.emit == "import"}));
  passes.addPass(createInlineCalls());
  passes.addNestedPass<func::FuncOp>(createUnrollLoops());
  passes.addPass(createConvertToGraph({options.params, options.inputs, options.freeze}));
  OpPassManager &program = passes.nest<graph::ProgramOp>();
  program.addPass(createSimplifyGraph());
  // Masks that libraries compute from positions turn out to be causal.
  program.addPass(createFoldConstants());
  program.addPass(createSimplifyGraph());
  program.addPass(createAssignRoles());
  // Weights are cut before named operations are sought: q, k and v are then three products, as attention wants them.
  program.addPass(createSinkSlices());
  program.addPass(createSplitParameters());
  program.addPass(createSimplifyGraph());
  program.addPass(createRecognizeLookups());
  program.addPass(createRecognizeNorms());
  program.addPass(createRecognizeActivations());
  program.addPass(createRecognizeSoftmax());
  // Attention is sought around a softmax.
  program.addPass(createRecognizeAttention());
  program.addPass(createSimplifyGraph());
  passes.addPass(createOutlineLayers());
  // A use may be a named op, found above, in a block, made above.
  passes.addPass(createChooseInitialization());
  passes.addPass(createBoundIndices());
  if (options.emit != "import")
    passes.addPass(createVerifyImport());
}

void buildAutodiff(OpPassManager &passes, const Options &options) {
  // A block has one derivative for all of its calls.
  passes.addPass(createSeparateFrozenPass());
  passes.addPass(createDifferentiatePass({options.optimizer, options.recompute}));
  passes.addPass(createWidenProductsPass());
  passes.addPass(createNarrowParametersPass());
}

void buildShard(OpPassManager &passes, const Options &options) {
  // Before the search: the pieces are what makes the vocabulary a dimension that may be cut.
  passes.addPass(shard::createExpandCrossEntropy());
  passes.addPass(shard::createSplitPrologue());
  // Partial sums that stand together are completed together.
  passes.addPass(shard::createSumProductsFirst());
  shard::PropagateShardingsOptions shardings{options.mesh.tp, options.mesh.pp, options.mesh.dp, options.microbatches.value_or(0), options.sequenceParallel};
  shardings.plan = options.plan;
  if (const Cluster &cluster = options.cluster; cluster.devicesPerNode > 0) {
    // tp is the fastest axis of either order: its first group stands for all.
    const Link &link = cluster.linkOf(llvm::to_vector(llvm::seq<int64_t>(0, options.mesh.tp)));
    shardings.linkBytesPerSecond = link.bytesPerSecond;
    shardings.linkLatencySeconds = link.latencySeconds;
    shardings.memoryBytesPerSecond = cluster.memoryBytesPerSecond * cluster.memoryEfficiency;
  }
  passes.addPass(shard::createPropagateShardings(shardings));
  passes.addPass(shard::createShareGathers());
  passes.addPass(shard::createMergeReshards());
  passes.addPass(shard::createVerifyShardings());
}

void buildPartition(OpPassManager &passes, const Options &) {
  passes.addPass(partition::createPartition());
  passes.addPass(partition::createVerifyPartition());
}

void buildStage(OpPassManager &passes, const Options &options) {
  if (options.splitsBackward())
    passes.addPass(createSplitBackwardPass());
  passes.addPass(createCutStagesPass({options.stages, options.chunks, options.placement() == Placement::Vee}));
  passes.addPass(createVerifyStagesPass());
}

void buildReplicate(OpPassManager &passes, const Options &options) {
  if (options.gradReduce == "bf16")
    passes.addPass(createNarrowGradientsPass());
  // First: how a gradient is synchronized depends on who updates with it.
  passes.addPass(createShardOverReplicasPass({options.zero}));
  passes.addPass(createInsertGradientSyncPass());
  passes.addPass(createVerifyGradientSyncPass());
}

void buildSchedule(OpPassManager &passes, const Options &options) {
  // By value: the options may be gone when the pass runs.
  auto costsOf = [table = options.costTable, chunks = options.chunks, order = *RankOrder::parse(options.rankOrder), cluster = options.cluster](ModuleOp module) {
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    return table ? table->costsOf(mesh.getPp(), chunks) : stageCosts(module, order, cluster).ofSchedule();
  };
  passes.addPass(createScheduleStagesPass({options.schedule, options.live, options.written ? printSchedule(options.written->orders) : ""}, costsOf));
  passes.addPass(createVerifySchedulePass());
}

/// What NVIDIA recommends for cuBLASLt on its largest devices, smaller ones ask for less, and 1 MiB for the sums of products.
constexpr int64_t kDeviceWorkspaceBytes = 33 << 20;

void buildMemory(OpPassManager &passes, const Options &options) {
  passes.addPass(memory::createExpandNamedOps());
  // Where commands are only enqueued, what a task receives comes before its turn, and products have epilogues.
  memory::BufferizeOptions enqueued{/*receivesAhead=*/options.forCuda, /*epilogues=*/options.forCuda};
  passes.addPass(memory::createBufferize(enqueued));
  if (options.forCuda)
    passes.addPass(memory::createJoinLaunches());
  passes.addPass(memory::createPlanMemory({options.forCuda ? kDeviceWorkspaceBytes : 0}));
  passes.addPass(memory::createVerifyMemory());
  if (options.forCuda) {
    passes.addPass(memory::createAssignStreams());
    passes.addPass(memory::createVerifyStreams());
  }
}

void buildLower(OpPassManager &passes, const Options &options) { options.forCuda ? lower::buildCudaLowerPipeline(passes) : lower::buildLowerPipeline(passes); }

} // namespace

// not messages: what --help says of the levels
ArrayRef<Level> p3d::levels() {
  static const Level table[] = {
      {"import", "one loss function: global shapes, named operations, repeated layers as calls of one block", buildImport},
      {"autodiff", "the training step: a forward and a backward block per layer, gradients, updates", buildAutodiff},
      {"shard", "where every value lives on the mesh, and every change of that with its reason", buildShard},
      {"partition", "local shapes and collectives", buildPartition},
      {"stage", "the tasks and transfers of each pipeline stage", buildStage},
      {"replicate", "one synchronisation of gradients a step", buildReplicate},
      {"schedule", "the order of each stage's tasks", buildSchedule},
      {"memory", "a program of commands at fixed offsets for each stage", buildMemory},
      {"lower", "LLVM code of each program and of the kernels that they share", buildLower},
  };
  return table;
}
