// Options as JSON, and the learning rate of a step.
#include "runtime/Train/RunOptions.h"
#include "runtime/Error.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace p3d {

static constexpr struct {
  const char *name;
  LearningRateSchedule value;
} scheduleWords[] = {{"constant", LearningRateSchedule::Constant},
                     {"cosine", LearningRateSchedule::Cosine},
                     {"linear", LearningRateSchedule::Linear},
                     {"wsd", LearningRateSchedule::Wsd}};

bool parseSchedule(const std::string &name, LearningRateSchedule &schedule) {
  for (const auto &word : scheduleWords)
    if (name == word.name) {
      schedule = word.value;
      return true;
    }
  return false;
}

const char *scheduleName(LearningRateSchedule schedule) {
  for (const auto &word : scheduleWords)
    if (word.value == schedule)
      return word.name;
  internalError("schedule number {} is unknown", int(schedule));
}

std::string RunOptions::toJson() const {
  nlohmann::json inits = nlohmann::json::object(), saved = nlohmann::json::array();
  for (const SavedFile &file : savedFiles)
    saved.push_back({file.name, file.of, file.layoutFd});
  for (const auto &[name, rule] : init)
    inits[name] = {initKindName(rule.kind), rule.std};
  return nlohmann::json{{"steps", steps},
                        {"first_step", firstStep},
                        {"updates", updates},
                        {"data_type", dataOptions.type},
                        {"data_order", dataOptions.order},
                        {"data_seed", dataOptions.seed},
                        {"data_map", dataOptions.map},
                        {"eval_data", evalData},
                        {"eval_every", evalEvery},
                        {"eval_batches", evalBatches},
                        {"params", params},
                        {"init", inits},
                        {"optimizer_state", optimizerState},
                        {"save", saveDirectory},
                        {"save_every", saveEvery},
                        {"shard_bytes", shardBytes},
                        {"saved_files", saved},
                        {"data", data},
                        {"lr", learningRate},
                        {"min_lr", minLearningRate},
                        {"schedule", scheduleName(schedule)},
                        {"warmup", warmup},
                        {"beta1", beta1},
                        {"beta2", beta2},
                        {"epsilon", epsilon},
                        {"weight_decay", weightDecay},
                        {"momentum", momentum},
                        {"clip", clip},
                        {"scales_loss", scalesLoss},
                        {"loss_scale", lossScale.value},
                        {"loss_scale_is_dynamic", lossScale.isDynamic},
                        {"loss_scale_good_steps", lossScale.goodSteps},
                        {"repeats_overflows", repeatsOverflows},
                        {"seed", seed},
                        {"cuda_graph", cudaGraph},
                        {"deterministic", deterministic},
                        {"threads", threads},
                        {"timeout", timeoutSeconds},
                        {"export_fd", exportFd},
                        {"gradients_fd", gradientsFd},
                        {"values_fd", valuesFd},
                        {"trace_fds", traceFds}}
      .dump();
}

RunOptions RunOptions::fromJson(const std::string &text) {
  nlohmann::json j = nlohmann::json::parse(text);
  RunOptions options;
  options.steps = j.at("steps");
  options.firstStep = j.at("first_step");
  options.updates = j.at("updates");
  options.dataOptions = {j.at("data_type"), j.at("data_order"),
                         j.at("data_seed"), j.at("data_map")};
  options.evalData = j.at("eval_data");
  options.evalEvery = j.at("eval_every");
  options.evalBatches = j.at("eval_batches");
  options.params = j.at("params");
  for (const auto &[name, rule] : j.at("init").items())
    options.init[name] = {*parseInitKind(rule.at(0)), rule.at(1)};
  options.optimizerState = j.at("optimizer_state");
  options.saveDirectory = j.at("save");
  options.saveEvery = j.at("save_every");
  options.shardBytes = j.at("shard_bytes");
  for (const nlohmann::json &file : j.at("saved_files"))
    options.savedFiles.push_back({file.at(0), file.at(1), file.at(2)});
  options.data = j.at("data");
  options.learningRate = j.at("lr");
  options.minLearningRate = j.at("min_lr");
  parseSchedule(j.at("schedule"), options.schedule);
  options.warmup = j.at("warmup");
  options.beta1 = j.at("beta1");
  options.beta2 = j.at("beta2");
  options.epsilon = j.at("epsilon");
  options.weightDecay = j.at("weight_decay");
  options.momentum = j.at("momentum");
  options.clip = j.at("clip");
  options.scalesLoss = j.at("scales_loss");
  options.lossScale = {j.at("loss_scale"), j.at("loss_scale_is_dynamic"),
                       j.at("loss_scale_good_steps")};
  options.repeatsOverflows = j.at("repeats_overflows");
  options.seed = j.at("seed");
  options.cudaGraph = j.at("cuda_graph");
  options.deterministic = j.at("deterministic");
  options.threads = j.at("threads");
  options.timeoutSeconds = j.at("timeout");
  options.exportFd = j.at("export_fd");
  options.gradientsFd = j.at("gradients_fd");
  options.valuesFd = j.at("values_fd");
  options.traceFds = j.at("trace_fds").get<std::vector<int>>();
  return options;
}

double learningRateAt(const RunOptions &options, int64_t step) {
  double peak = options.learningRate;
  if (step <= options.warmup)
    return peak * double(step) / double(options.warmup);
  double low = options.minLearningRate;
  int64_t decaying = options.steps - options.warmup;
  if (options.schedule == LearningRateSchedule::Wsd)
    decaying = std::min(decaying, (options.steps + 4) / 5);
  int64_t done = step - (options.steps - decaying);
  double part =
      std::clamp(double(done) / double(std::max<int64_t>(decaying, 1)), 0., 1.);
  switch (options.schedule) {
  case LearningRateSchedule::Constant:
    return peak;
  case LearningRateSchedule::Cosine:
    return low + (peak - low) * 0.5 * (1 + std::cos(M_PI * part));
  case LearningRateSchedule::Linear:
  case LearningRateSchedule::Wsd:
    return low + (peak - low) * (1 - part);
  }
  return peak;
}

} // namespace p3d
