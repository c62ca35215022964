#include "runtime/tools/p3d-run/Checks.h"
#include "runtime/Data/Batch.h"
#include "runtime/Data/DataMap.h"
#include "runtime/Error.h"
#include "runtime/Train/Parameters.h"
#include "runtime/tools/p3d-run/CheckpointState.h"
#include "runtime/tools/p3d-run/Initialisation.h"
#include <algorithm>
#include <fstream>

namespace p3d {

/// Refuses arenas that this machine cannot hold: better than being killed when
/// the memory runs out.
static void checkMemory(const Build &build, const Placement &placement) {
  int64_t needed = 0, available = 0;
  for (int rank = placement.firstRank; rank < placement.firstRank + placement.rankCount; ++rank)
    if (build.programs[rank]->target == Target::Cpu)
      needed += build.programs[rank]->arenaBytes;
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  int64_t kilobytes;
  while (file >> name >> kilobytes && std::getline(file, unit))
    if (name == "MemAvailable:" || name == "SwapFree:")
      available += kilobytes * 1024;
  if (available > 0 && needed > available)
    userError("the {} ranks need {:.2f} GiB of memory, {:.2f} GiB are "
              "available here",
              placement.rankCount, double(needed) / (1 << 30), double(available) / (1 << 30));
}

/// How many batches an evaluation takes.
static int64_t countEvaluation(const Build &build, const RunOptions &options) {
  std::unique_ptr<BatchSource> source = openBatchSource(options.evalData, options.dataOptions.inOrder());
  int64_t count = INT64_MAX;
  for (const Program *program : build.distinctPrograms()) {
    source->check(*program);
    count = std::min(count, source->batches(*program));
  }
  if (count == 0)
    userError("{}: holds less than one batch of {} windows, so that nothing would be evaluated; give a longer file", options.evalData, build.any().globalBatch);
  return count == INT64_MAX ? 1 : count;
}

/// Refuses names in --data-map that no stage knows.
static void checkDataMap(const Build &build, const RunOptions &options) {
  DataMap map = parseDataMap(options.dataOptions.map);
  if (!map.empty() && !isTokenFile(options.data) && !isTokenFile(options.evalData))
    userError("--data-map says what a file of tokens fills, and --data={} is none; leave --data-map out", options.data);
  for (const auto &[name, feed] : map) {
    std::vector<std::string> inputs;
    bool isKnown = false;
    const DataMap one{{name, feed}};
    for (const Program *program : build.distinctPrograms())
      for (const Input &input : program->inputs) {
        inputs.push_back(input.name);
        isKnown |= findEntry(one, input) != one.end();
      }
    if (!isKnown)
      userError("--data-map: the program has no input {}; its inputs are {}", name, fmt::join(inputs, ", "));
  }
}

void checkInputs(const Build &build, CommandLine &line, const Placement &placement) {
  checkMemory(build, placement);
  line.run.dataOptions.seed = line.run.seed;
  line.run.scalesLoss = build.scalesLoss();
  std::unique_ptr<SafetensorsFile> params;
  if (!line.run.params.empty())
    params = std::make_unique<SafetensorsFile>(line.run.params);
  std::unique_ptr<BatchSource> batches = openBatchSource(line.run.data, line.run.dataOptions);
  checkDataMap(build, line.run);
  for (const Program *program : build.distinctPrograms()) {
    batches->check(*program);
    if (params)
      checkParameters(*program, *params);
  }
  if (!line.run.evalData.empty())
    line.run.evalBatches = countEvaluation(build, line.run);
  if (!line.run.optimizerState.empty()) {
    SafetensorsFile optimizer(line.run.optimizerState);
    for (const Program *program : build.distinctPrograms())
      checkOptimizerState(*program, optimizer);
  }
  if (line.init != "auto")
    line.run.init = readInitialisation(line.init, build);
  if (!params && placement.isRoot())
    printInitialisation(build, line.run.init);
}

void resume(CommandLine &line, const Build &build) {
  std::string directory = findCheckpoint(line.resume);
  CheckpointState state = checkCheckpoint(directory);
  if (state.step >= line.run.steps)
    userError("{}: is of step {}, and --steps={} asks for none behind it; --steps is the number of the last step", directory, state.step, line.run.steps);
  if (line.given.count("seed") && line.run.seed != state.seed)
    userError("{}: was trained with --seed={}, not {}; leave --seed out", directory, state.seed, line.run.seed);
  if (std::string optimizer = optimizerName(build.optimizer()); optimizer != state.optimizer)
    userError("{}: has the state of {}, the program was compiled with --optimizer={}; compile it with --optimizer={}, or start from its weights with "
              "--params={}/params.safetensors",
              directory, state.optimizer, optimizer, state.optimizer, directory);
  line.run.seed = state.seed;
  line.run.firstStep = state.step + 1;
  line.run.updates = state.updates;
  if (line.run.lossScale.isDynamic && state.lossScale > 0)
    line.run.lossScale = {state.lossScale, true, state.goodSteps};
  line.run.params = directory + "/params.safetensors";
  line.run.optimizerState = directory + "/optimizer.safetensors";
  fmt::print("resumed from {}, step {}\n", directory, state.step);
  std::fflush(stdout);
}

} // namespace p3d
