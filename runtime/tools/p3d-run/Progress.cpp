// Gathers the records of the ranks into one report a step, prints and logs it.
#include "runtime/tools/p3d-run/Progress.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace p3d {

Progress::Progress(const Build &build, const Control &control,
                   const RunOptions &options, const std::string &logPath)
    : build(build), control(control), steps(options.steps), logPath(logPath),
      terminal(isatty(STDOUT_FILENO)), stragglers(build) {
  last.step = options.firstStep - 1;
  if (!logPath.empty())
    openLog(options.firstStep);
}

/// The lines of `path` on steps before `firstStep`.
static std::string earlierLines(const std::string &path, int64_t firstStep) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; firstStep > 1 && std::getline(file, line);) {
    nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    // A killed run may leave half a line.
    if (entry.is_object() && entry.value("step", firstStep) < firstStep)
      kept += line + "\n";
  }
  return kept;
}

void Progress::openLog(int64_t firstStep) {
  std::string kept = earlierLines(logPath, firstStep);
  logFile = std::fopen(logPath.c_str(), "we");
  if (!logFile || std::fputs(kept.c_str(), logFile) < 0)
    userError("{}: cannot be written: {}", logPath, std::strerror(errno));
}

void Progress::note(const std::string &text) {
  endLine();
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

Progress::~Progress() {
  endLine();
  if (logFile)
    std::fclose(logFile);
}

void Progress::endLine() {
  if (lineIsOpen)
    std::fputs("\n", stdout);
  std::fflush(stdout);
  lineIsOpen = false;
}

void Progress::readSteps() {
  ControlHeader &header = control.header();
  auto allHaveDone = [&](uint32_t index) {
    for (int rank = 0; rank < control.worldSize(); ++rank)
      if (control.rank(rank).stepsDone.load(std::memory_order_acquire) <= index)
        return false;
    return true;
  };
  for (uint32_t index = header.stepsRead.load(); allHaveDone(index); ++index) {
    StepReport report = gather(index);
    signal(header.stepsRead);
    print(report);
    if (logFile)
      log(report);
    // As Trainer decides.
    gradientIsWritten |= !(report.lossScale > 0 && report.skipped);
    last = std::move(report);
  }
}

/// What the rank says that came upon a number first: what comes of it is found later.
static std::string firstNotFinite(const Control &control, uint32_t index) {
  const NotFinite *first = nullptr;
  int firstRank = 0;
  for (int rank = 0; rank < control.worldSize(); ++rank) {
    const NotFinite &here = control.rank(rank).records[index % stepRing].notFinite;
    if (here.isFound && (!first || std::pair(here.isMasking, here.ns) < std::pair(first->isMasking, first->ns))) {
      first = &here;
      firstRank = rank;
    }
  }
  return first ? fmt::format("rank {}, {}", firstRank, first->text) : "";
}

StepReport Progress::gather(uint32_t index) {
  StepReport report;
  report.memoryBytes.resize(build.any().stages);
  int64_t start = INT64_MAX, end = 0, evaluationNs = 0;
  for (int rank = 0; rank < control.worldSize(); ++rank) {
    const StepRecord &record = control.rank(rank).records[index % stepRing];
    report.step = record.step;
    report.gradNorm = record.gradNorm;
    report.learningRate = record.learningRate;
    report.lossScale = record.lossScale;
    report.skipped = record.skipped;
    if (record.launches.kernels > report.launches.kernels)
      report.launches = record.launches;
    int64_t &memoryBytes = report.memoryBytes[build.programs[rank]->stage];
    memoryBytes = std::max(memoryBytes, record.memoryBytes);
    start = std::min(start, record.startNs);
    end = std::max(end, record.endNs);
    evaluationNs = std::max(evaluationNs, record.isEvaluated ? record.evaluationNs : 0);
    stragglers.add(rank, record.endNs - record.startNs - record.waitNs);
    report.waiting += double(record.waitNs) /
                      double(record.endNs - record.startNs) /
                      control.worldSize();
  }
  stragglers.endStep();
  if (stepsRead++ == 0)
    firstStartNs = start;
  // Steps of different ranks overlap: a step lasts from the end of the last
  // one.
  report.milliseconds = double(end - (lastEndNs ? lastEndNs : start)) / 1e6;
  lastEndNs = end + evaluationNs;
  if (report.skipped)
    report.notFinite = firstNotFinite(control, index);
  report.results = gatherResults(index, &StepRecord::results);
  if (evaluationNs > 0)
    report.evaluation = gatherResults(index, &StepRecord::evaluation);
  return report;
}

Progress::Results
Progress::gatherResults(uint32_t index,
                        double (StepRecord::*values)[maxResults]) const {
  Results results;
  for (int rank = 0; rank < control.worldSize(); ++rank) {
    const Program &program = *build.programs[rank];
    Coordinates at = program.mesh.coordinates(rank);
    if (at.tp != 0 || at.dp != 0)
      continue;
    const StepRecord &record = control.rank(rank).records[index % stepRing];
    for (size_t i = 0; i < program.results.size(); ++i) {
      const std::string &name = program.results[i].name;
      auto isSame = [&](const auto &r) { return r.first == name; };
      if (std::none_of(results.begin(), results.end(), isSame))
        results.emplace_back(name, (record.*values)[i]);
    }
  }
  // The loss leads, whichever stage computes it.
  std::stable_partition(results.begin(), results.end(),
                        [](const auto &r) { return r.first == "loss"; });
  return results;
}

static double tokensPerSecond(const StepReport &report, int64_t tokens) {
  return double(tokens) / report.milliseconds * 1e3;
}

std::string timeLeft(int64_t done, int64_t left, double seconds) {
  double estimate = seconds / double(std::max<int64_t>(done, 1)) * double(left);
  if (!(estimate >= 10 && estimate < 1e9))
    return "";
  auto whole = int64_t(estimate);
  return fmt::format("  {}:{:02}:{:02} left", whole / 3600, whole / 60 % 60, whole % 60);
}

void Progress::print(const StepReport &report) {
  std::string text = fmt::format("step {}/{}", report.step, steps);
  for (const auto &[name, value] : report.results)
    text += fmt::format("  {} {:.6g}", name, value);
  for (const auto &[name, value] : report.evaluation)
    text += fmt::format("  eval {} {:.6g}", name, value);
  if (report.gradNorm >= 0 || report.skipped)
    text += fmt::format("  norm {:.4g}", report.gradNorm);
  text += fmt::format("  lr {:.4g}  {:.1f} ms", report.learningRate,
                      report.milliseconds);
  int64_t tokens = build.tokensPerStep();
  if (tokens > 0)
    text += fmt::format("  {:.0f} tokens/s", tokensPerSecond(report, tokens));
  text += timeLeft(stepsRead, steps - report.step, double(lastEndNs - firstStartNs) / 1e9);
  if (report.skipped)
    text += "  skipped: the gradient is not finite";
  if (report.skipped && report.lossScale > 0)
    text += fmt::format(" with --loss-scale={:.6g}", report.lossScale);
  if (!report.notFinite.empty())
    text += "\n  the first number that is not finite: " + report.notFinite;
  // A skipped step and an evaluation stay visible on a terminal too.
  lineIsOpen = terminal && !report.skipped && report.evaluation.empty();
  std::string line =
      (terminal ? "\r\033[K" : "") + text + (lineIsOpen ? "" : "\n");
  if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    userError("standard output cannot be written: {}", std::strerror(errno));
}

/// JSON has no infinities and no NaN; they are written as strings.
static nlohmann::json number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

void Progress::log(const StepReport &report) {
  nlohmann::ordered_json object;
  object["step"] = report.step;
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  for (size_t i = 0; i < report.results.size(); ++i)
    (i == 0 ? object["loss"] : metrics[report.results[i].first]) =
        number(report.results[i].second);
  for (const auto &[name, value] : report.evaluation)
    object["eval_" + name] = number(value);
  int64_t tokens = build.tokensPerStep();
  if (report.gradNorm >= 0 || report.skipped)
    object["grad_norm"] = number(report.gradNorm);
  object["lr"] = report.learningRate;
  if (report.lossScale > 0)
    object["loss_scale"] = report.lossScale;
  if (!report.notFinite.empty())
    object["not_finite"] = report.notFinite;
  object["tokens"] = report.step * tokens;
  object["step_ms"] = report.milliseconds;
  object["tokens_per_s"] = tokensPerSecond(report, tokens);
  object["bubble"] = report.waiting;
  object["memory_bytes"] = *std::max_element(report.memoryBytes.begin(), report.memoryBytes.end());
  object["stage_memory_bytes"] = report.memoryBytes;
  if (const Launches &launches = report.launches; launches.kernels > 0)
    object["launches"] = {{"kernels", launches.kernels},
                          {"products", launches.products},
                          {"collectives", launches.collectives},
                          {"graphs", launches.graphs}};
  if (report.skipped)
    object["skipped"] = true;
  if (!metrics.empty())
    object["metrics"] = metrics;
  std::string line = object.dump() + "\n";
  if (std::fputs(line.c_str(), logFile) < 0 || std::fflush(logFile) != 0)
    userError("{}: cannot be written: {}", logPath, std::strerror(errno));
}

} // namespace p3d
