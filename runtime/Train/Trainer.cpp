// One step: clear accumulators, fill inputs, run the order, norm, clip, update,
// publish.
#include "runtime/Train/Trainer.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/DType.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/Parameters.h"
#include "runtime/Train/Random.h"
#include "runtime/Train/Values.h"
#include <cmath>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace p3d {

Trainer::Trainer(p3d_context &context, const RunOptions &options,
                 const p3d_task *tasks)
    : context(context), program(context.program), options(options),
      tasks(tasks), batches(openBatchSource(options.data, options.dataOptions)),
      evaluationBatches(
          openBatchSource(options.evalData, options.dataOptions.inOrder())),
      checkpoints(context, options), trace(options.traceFds.empty() ? -1 : options.traceFds[size_t(context.rank)]), updates(options.updates),
      lossScale(options.lossScale) {}

void Trainer::run() {
  loadParameters();
  for (int64_t step = options.firstStep; step <= options.steps; ++step) {
    context.trace = step < options.firstStep + tracedSteps ? &trace : nullptr;
    runStep(step);
    if (options.savesAfter(step))
      saveCheckpoint(step);
    trace.flush();
  }
  if (options.exportFd >= 0)
    exportWeights();
}

void Trainer::loadParameters() {
  context.enterOperation("loading of parameters");
  auto open = [](const std::string &path) {
    return path.empty() ? nullptr : std::make_unique<SafetensorsFile>(path);
  };
  auto params = open(options.params), optimizer = open(options.optimizerState);
  prepareParameters(program, context.at, {params.get(), optimizer.get(), &options.init},
                    options.seed, context.device);
}

/// Batch `number` of `source`; random keys are those of `step`. And the gradient
/// with which the backward pass begins.
void Trainer::fillInputs(BatchSource &source, int64_t number, int64_t step) {
  TraceScope traced(context, Phase::Input);
  for (const Input &input : program.inputs) {
    int64_t count = localLayout(input, program.mesh, context.at).storageCount();
    context.device.write(
        {{input.offset, count * info(input.dtype).bytes}},
        [&](const HostRanges &host) {
          source.fill(input, program, context.at, number, host[0]);
        });
  }
  for (const Param &param : program.params) {
    std::array<uint32_t, 2> key = deriveKey(options.seed, param.name, step);
    if (param.role == Role::Key)
      context.device.write({{param.offset, int64_t(sizeof(key))}},
                           [&](const HostRanges &host) {
                             if (!source.fillKey(param, host[0]))
                               std::memcpy(host[0], key.data(), sizeof(key));
                           });
    if (param.role == Role::LossScale)
      context.device.write({{param.offset, int64_t(sizeof(float))}},
                           [&](const HostRanges &host) {
                             storeFloat(P3D_F32, host[0], 0, lossScale.value);
                           });
  }
}

bool Trainer::isKind(const OrderEntry &entry, const char *kind) const {
  return program.tasks[entry.task].rfind(kind, 0) == 0;
}

void Trainer::runTask(const OrderEntry &entry) {
  context.enterTask(program.tasks[entry.task], entry.mb);
  TraceScope traced(context, TraceEvent::Kind::Task, entry.task);
  // A slot is taken by the forward; until its next one nothing that is sent from it changes.
  if (isForward(entry)) {
    context.enterOperation("reuse of a slot that was sent from");
    context.transport.finishSends(entry.slot);
    context.enterOperation("");
  }
  tasks[entry.task](&context, context.device.arena(), entry.mb, entry.slot);
}

void Trainer::runOrder() {
  for (const OrderEntry &entry : program.order) {
    runTask(entry);
    if (options.valuesFd >= 0 && isForward(entry))
      dumpValues(entry);
  }
  context.enterOperation("end of the order");
  context.transport.finishAllSends();
}

void Trainer::runStep(int64_t step) {
  StepRecord record{};
  record.step = step;
  record.startNs = monotonicNs();
  int64_t waitedBefore = context.transport.waitedNs();
  Launches launchedBefore = context.device.launches();
  context.area().step.store(step, std::memory_order_relaxed);
  computeGradient(step);
  update(step, record);
  readResults(record.results);
  record.waitNs = context.transport.waitedNs() - waitedBefore;
  record.launches = context.device.launches() - launchedBefore;
  record.memoryBytes = context.device.memoryBytes();
  record.endNs = monotonicNs();
  if (options.evaluatesAfter(step))
    evaluate(step, record);
  publish(record);
}

/// Inputs and the order of a step.
void Trainer::computeGradient(int64_t step) {
  context.enterTask("input", 0);
  context.enterOperation("filling of inputs");
  context.device.zero({program.zeroOffset, program.zeroBytes});
  fillInputs(*batches, step, step);
  context.device.runOrder([this] { runOrder(); });
  context.enterTask("update", 0);
}

/// The norm of the gradient of the loss itself, and whether to skip the update:
/// one that is not finite would destroy every weight. All ranks see the same.
void Trainer::measureGradient(StepRecord &record) {
  record.lossScale = options.scalesLoss ? lossScale.value : 0;
  record.gradNorm = -1;
  if (options.clip == 0 && !options.scalesLoss)
    return;
  record.gradNorm = context.device.gradientNorm(context) / currentLossScale();
  record.skipped = !std::isfinite(record.gradNorm);
}

/// Computes the step again to say where its first number that is not finite is. All ranks do at the same time, once for steps that follow one another; a loss
/// scale that can still fall is expected to overflow, and a graph holds no readings.
void Trainer::findNotFinite(int64_t step, StepRecord &record) {
  bool isNews = record.skipped && !wasSkipped;
  wasSkipped = record.skipped;
  if (!isNews || options.cudaGraph || (options.scalesLoss && lossScale.value > 1))
    return;
  FiniteCheck check(context);
  check.readInputs();
  Trace *trace = std::exchange(context.trace, nullptr);
  context.check = &check;
  computeGradient(step);
  context.check = nullptr;
  context.trace = trace;
  record.notFinite = check.first();
}

void Trainer::update(int64_t step, StepRecord &record) {
  TraceScope traced(context, Phase::Update);
  measureGradient(record);
  while (options.repeatsOverflows && record.skipped && lossScale.value > 1) {
    lossScale.update(false);
    computeGradient(step);
    measureGradient(record);
  }
  findNotFinite(step, record);
  // Of a step that is skipped nothing is known but that its scale was too large.
  if (options.gradientsFd >= 0 && !gradientsAreDumped &&
      !(options.scalesLoss && record.skipped))
    dumpGradients();
  record.learningRate = learningRateAt(options, step);
  double scale = 1 / currentLossScale();
  if (options.scalesLoss)
    lossScale.update(!record.skipped);
  if (record.skipped)
    return;
  if (options.clip > 0 && record.gradNorm > options.clip)
    scale *= options.clip / record.gradNorm;
  context.device.update(context, options, ++updates, record.learningRate, scale);
  for (const OrderEntry &entry : program.afterUpdate)
    context.device.runTask([&] { runTask(entry); });
}

static double readScalar(p3d_dtype dtype, const char *data) {
  if (info(dtype).isFloat)
    return loadFloat(dtype, data, 0);
  if (dtype == P3D_I64)
    return double(*reinterpret_cast<const int64_t *>(data));
  if (dtype == P3D_I32)
    return *reinterpret_cast<const int32_t *>(data);
  internalError("a result of type {} is not supported", info(dtype).name);
}

/// The means of the results over all batches of the second file: what leads to
/// them, in the order in which a step does it. Results are sums, which add up
/// over the batches and are completed once.
void Trainer::evaluate(int64_t step, StepRecord &record) {
  TraceScope traced(context, Phase::Evaluation);
  context.device.zero({program.zeroOffset, program.zeroBytes});
  for (int64_t number = 1; number <= options.evalBatches; ++number) {
    context.enterTask("input", 0);
    context.enterOperation("filling of inputs of an evaluation");
    fillInputs(*evaluationBatches, number, step);
    context.device.runTask([&] {
      for (const OrderEntry &entry : program.order)
        if (isForward(entry) || isKind(entry, "prologue"))
          runTask(entry);
      context.enterOperation("end of the order");
      context.transport.finishAllSends();
    });
  }
  context.device.runTask([&] {
    for (const OrderEntry &entry : program.order)
      if (isKind(entry, "synchronize"))
        runTask(entry);
  });
  readResults(record.evaluation);
  for (double &result : record.evaluation)
    result /= double(options.evalBatches);
  record.isEvaluated = 1;
  record.evaluationNs = monotonicNs() - record.endNs;
}

void Trainer::readResults(double (&results)[maxResults]) {
  if (program.results.size() > maxResults)
    internalError("{} results; at most {} are supported",
                  program.results.size(), maxResults);
  std::vector<ArenaRange> places;
  for (const Result &result : program.results)
    places.push_back({result.offset, info(result.dtype).bytes});
  context.device.read(places, [&](const HostRanges &host) {
    for (size_t i = 0; i < program.results.size(); ++i)
      results[i] = readScalar(program.results[i].dtype, host[i]);
  });
}

void Trainer::publish(const StepRecord &record) {
  RankArea &area = context.area();
  ControlHeader &header = context.control.header();
  uint32_t done = area.stepsDone.load(std::memory_order_relaxed);
  // The launcher may be held up by whoever reads its output; that has no
  // deadline.
  area.activity.store(uint32_t(Activity::AwaitingLauncher));
  waitUntil(header.stepsRead, -1, [&] {
    return done - header.stepsRead.load(std::memory_order_acquire) <
           uint32_t(stepRing);
  });
  area.activity.store(uint32_t(Activity::Running));
  area.records[done % stepRing] = record;
  area.stepsDone.store(done + 1, std::memory_order_release);
  context.control.wakeLauncher();
}

void Trainer::dumpGradients() {
  context.enterOperation("writing of gradients");
  SafetensorsFile file(MappedFile(options.gradientsFd, "--dump-grads"));
  struct Range {
    float *data;
    int64_t count;
  };
  std::vector<Range> written;
  forEachOwned(program, context.at, context.device, {&gradientTensors}, file,
               [&](const TensorView &view, int64_t offset, int64_t bytes) {
                 char *data = view.data + offset;
                 written.push_back({reinterpret_cast<float *>(data),
                                    bytes / int64_t(sizeof(float))});
                 return data;
               });
  for (const Range &range : written)
    for (int64_t i = 0; i < range.count; ++i)
      range.data[i] = float(range.data[i] / currentLossScale());
  gradientsAreDumped = true;
}

void Trainer::dumpValues(const OrderEntry &entry) {
  context.enterOperation("writing of values");
  exportValues(program, context.at, entry, context.device,
               SafetensorsFile(MappedFile(options.valuesFd, "--verify")));
}

void Trainer::saveCheckpoint(int64_t step) {
  context.enterTask("checkpoint", 0);
  TraceScope traced(context, Phase::Checkpoint);
  context.enterOperation("copying of the state");
  checkpoints.save(step, {updates, lossScale.value, lossScale.goodSteps});
}

void Trainer::exportWeights() {
  context.enterTask("export", 0);
  context.enterOperation("writing of parameters");
  writeOwned(program, context.at, context.device, {&parameterTensors},
             SafetensorsFile(MappedFile(options.exportFd, "--export")));
}

} // namespace p3d
