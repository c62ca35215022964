// One step: clear accumulators, fill inputs, run the order, norm, clip, update,
// publish.
#include "runtime/Train/Trainer.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/DType.h"
#include "runtime/Train/Parameters.h"
#include "runtime/Train/Random.h"
#include "runtime/Train/Update.h"
#include "runtime/Train/Values.h"
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace p3d {

Trainer::Trainer(p3d_context &context, const RunOptions &options,
                 const p3d_task *tasks)
    : context(context), program(context.program), options(options),
      tasks(tasks), batches(openBatchSource(options.data)) {}

void Trainer::run() {
  prepareParameters();
  for (int64_t step = 1; step <= options.steps; ++step)
    runStep(step);
  if (options.exportFd >= 0)
    exportWeights();
}

void Trainer::prepareParameters() {
  context.enterOperation("loading of parameters");
  char *arena = context.arenas.own();
  if (options.params.empty())
    initializeParameters(program, context.at, options.seed, arena);
  else
    loadParameters(program, context.at, SafetensorsFile(options.params), arena);
}

void Trainer::fillInputs(int64_t step) {
  char *arena = context.arenas.own();
  batches->fill(program, context.at, step, arena);
  for (const Param &param : program.params) {
    if (param.role != Role::Key || batches->fillKey(param, arena))
      continue;
    std::array<uint32_t, 2> key = deriveKey(options.seed, param.name, step);
    std::memcpy(arena + param.offset, key.data(), sizeof(key));
  }
}

void Trainer::runOrder() {
  for (const OrderEntry &entry : program.order) {
    context.enterTask(program.tasks[entry.task], entry.mb);
    context.enterOperation("reuse of a slot that was sent from");
    context.transport.finishSends(entry.slot);
    context.enterOperation("");
    tasks[entry.task](&context, context.arenas.own(), entry.mb, entry.slot);
    if (options.valuesFd >= 0 && program.tasks[entry.task] == "forward")
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
  context.area().step.store(step, std::memory_order_relaxed);
  context.enterTask("input", 0);
  context.enterOperation("filling of inputs");
  std::memset(context.arenas.own() + program.zeroOffset, 0,
              size_t(program.zeroBytes));
  fillInputs(step);
  runOrder();
  context.enterTask("update", 0);
  if (step == 1 && options.gradientsFd >= 0)
    dumpGradients();
  update(step, record);
  readResults(record);
  record.waitNs = context.transport.waitedNs() - waitedBefore;
  record.endNs = monotonicNs();
  publish(record);
}

void Trainer::update(int64_t step, StepRecord &record) {
  record.learningRate = learningRateAt(options, step);
  record.gradNorm = -1;
  double scale = 1;
  if (options.clip > 0) {
    record.gradNorm = gradientNorm(context);
    // An update with this would destroy every weight; all ranks see the same.
    record.skipped = !std::isfinite(record.gradNorm);
    if (record.gradNorm > options.clip)
      scale = options.clip / record.gradNorm;
  }
  if (!record.skipped)
    updateParameters(context, options, step, record.learningRate, scale);
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

void Trainer::readResults(StepRecord &record) {
  if (program.results.size() > maxResults)
    internalError("{} results; at most {} are supported",
                  program.results.size(), maxResults);
  for (size_t i = 0; i < program.results.size(); ++i)
    record.results[i] =
        readScalar(program.results[i].dtype,
                   context.arenas.own() + program.results[i].offset);
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
  uint64_t one = 1;
  if (write(header.eventFd, &one, sizeof(one)) != sizeof(one))
    internalError("cannot signal p3d-run");
}

void Trainer::dumpGradients() {
  context.enterOperation("writing of gradients");
  exportGradients(
      program, context.at, context.arenas.own(),
      SafetensorsFile(MappedFile(options.gradientsFd, "--dump-grads")));
}

void Trainer::dumpValues(const OrderEntry &entry) {
  context.enterOperation("writing of values");
  exportValues(program, context.at, entry.mb, entry.slot, context.arenas.own(),
               SafetensorsFile(MappedFile(options.valuesFd, "--verify")));
}

void Trainer::exportWeights() {
  context.enterTask("export", 0);
  context.enterOperation("writing of parameters");
  exportParameters(program, context.at, context.arenas.own(),
                   SafetensorsFile(MappedFile(options.exportFd, "--export")));
}

} // namespace p3d
