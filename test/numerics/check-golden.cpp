// check-golden: compares one training run with the golden numbers of its model.
// The limits stand in one table below. The loss alone proves little (a wrong
// gradient of a norm's scale moves it by 3e-6), so every gradient is compared.
#include "compiler/Tolerances.h"
#include "runtime/DType.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Error.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace p3d;

static const char usage[] =
    "usage: check-golden --golden=FILE --params=FILE --log=FILE --grads=FILE "
    "[--export=FILE] [--limits=f32|bf16|f16] [--steps=N]\n\n"
    "Compares the log, the gradients and the exported parameters of a run of "
    "N steps (all\nof the golden file: 10) with the golden file; prints one "
    "line, exit code 1 if a limit is\nexceeded.\n";

namespace {

/// The first step's limits, that of all gradients holding for their norm too, and
/// the training losses'.
struct Limits {
  const char *name;
  Tolerances step;
  double trainLoss;
};
const Limits limitsTable[] = {
    {"f32", kF32Tolerances, 1e-4},
    {"bf16", kBf16Tolerances, 1e-2},
    {"f16", kF16Tolerances, 3e-3},
};
/// A gradient is compared relative to its own norm, or to this part of the norm
/// of all gradients if that is more: some gradients are zero in exact
/// arithmetic.
constexpr double smallestNorm = 1e-4;
/// Which part of the final parameters has to lie within which absolute
/// distance.
struct Share {
  double part, distance;
};
const Share finalShares[] = {{0.995, 1e-6}, {0.999, 1e-4}, {1, 2e-3}};

struct Arguments {
  std::string golden, params, log, gradients, exported;
  const Limits *limits = &limitsTable[0];
  size_t steps = 0; ///< 0: as many as the golden has
};

/// What was measured, and the complaints.
struct Verdict {
  std::string figures;
  std::vector<std::string> faults;

  /// Notes one figure; written so that a NaN is a fault.
  void add(const std::string &what, double value, double limit,
           const std::string &where = "") {
    figures += fmt::format("{} {:.1e}  ", what, value);
    if (!(value <= limit))
      faults.push_back(fmt::format("{}{} {:.3e} above {:.0e}", what,
                                   where.empty() ? "" : " of " + where, value,
                                   limit));
  }
};

std::vector<double> floats(const TensorView &view) {
  std::vector<double> values(size_t(view.bytes / info(view.dtype).bytes));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = loadFloat(view.dtype, view.data, int64_t(i));
  return values;
}

const TensorView &need(const SafetensorsFile &file, const std::string &name) {
  const TensorView *view = file.find(name);
  if (!view)
    userError("{}: has no tensor {}", file.name(), name);
  return *view;
}

std::vector<double> floats(const SafetensorsFile &file,
                           const std::string &name) {
  return floats(need(file, name));
}

double relative(double value, double expected) {
  return std::abs(value - expected) / std::abs(expected);
}

double norm(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

/// The names under `prefix` in `file`, without it.
std::vector<std::string> namesUnder(const SafetensorsFile &file,
                                    const std::string &prefix) {
  std::vector<std::string> names;
  for (const auto &[name, view] : file.tensors())
    if (name.compare(0, prefix.size(), prefix) == 0)
      names.push_back(name.substr(prefix.size()));
  return names;
}

std::vector<nlohmann::json> readLog(const std::string &path) {
  std::ifstream file(path);
  std::vector<nlohmann::json> steps;
  for (std::string line; std::getline(file, line);) {
    steps.push_back(nlohmann::json::parse(line, nullptr, false));
    if (!steps.back().is_object())
      userError("{}: line {} is no JSON object", path, steps.size());
  }
  return steps;
}

/// The number under `key`; infinities and NaN are logged as text.
double number(const nlohmann::json &step, const char *key) {
  auto found = step.find(key);
  return found != step.end() && found->is_number() ? found->get<double>() : NAN;
}

void checkLog(const Arguments &arguments, const SafetensorsFile &golden,
              Verdict &verdict) {
  std::vector<nlohmann::json> steps = readLog(arguments.log);
  std::vector<double> losses = floats(golden, "train.loss");
  if (arguments.steps > losses.size())
    userError("--steps={}: the golden has {}", arguments.steps, losses.size());
  losses.resize(arguments.steps ? arguments.steps : losses.size());
  if (steps.size() != losses.size())
    userError("{}: holds {} steps, expected {}", arguments.log, steps.size(),
              losses.size());
  const Limits &limits = *arguments.limits;
  verdict.add("loss",
              relative(number(steps[0], "loss"), floats(golden, "loss.f64")[0]),
              limits.step.scalar);
  verdict.add(
      "norm",
      relative(number(steps[0], "grad_norm"), floats(golden, "grad_norm64")[0]),
      limits.step.allGradients);
  double worst = 0;
  size_t worstStep = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    double error = relative(number(steps[i], "loss"), losses[i]);
    if (!(error <= worst)) {
      worst = error;
      worstStep = i;
    }
    if (std::isnan(worst))
      break;
  }
  verdict.add("training", worst, limits.trainLoss,
              fmt::format("step {}", worstStep + 1));
}

void checkGradients(const Arguments &arguments, const SafetensorsFile &golden,
                    Verdict &verdict) {
  SafetensorsFile gradients(arguments.gradients);
  double all = floats(golden, "grad_norm64")[0], sum = 0, worst = 0;
  std::string worstName;
  for (const std::string &name : namesUnder(golden, "grads64.")) {
    const TensorView &view = need(gradients, "grads." + name);
    const TensorView &goldenView = need(golden, "grads64." + name);
    if (view.shape != goldenView.shape)
      userError("{}: grads.{} has shape {}, expected {}", arguments.gradients,
                name, shapeText(view.shape), shapeText(goldenView.shape));
    std::vector<double> expected = floats(goldenView), found = floats(view);
    double size = std::max(norm(expected), smallestNorm * all);
    for (size_t i = 0; i < found.size(); ++i)
      found[i] -= expected[i];
    double error = norm(found) / size;
    sum += norm(found) * norm(found);
    if (worstName.empty() || !(error <= worst)) {
      worst = error;
      worstName = name;
    }
    if (std::isnan(worst))
      break;
  }
  verdict.add("all gradients", std::sqrt(sum) / all,
              arguments.limits->step.allGradients);
  verdict.add("gradient", worst, arguments.limits->step.tensor, worstName);
  verdict.figures += "(" + worstName + ")  ";
}

/// Distances of all final parameters from the golden's, each with half of the
/// golden's resolution added.
std::vector<double> finalDistances(const Arguments &arguments,
                                   const SafetensorsFile &golden) {
  SafetensorsFile start(arguments.params), final(arguments.exported);
  std::vector<double> distances;
  for (const std::string &name : namesUnder(golden, "change.")) {
    const TensorView &change = need(golden, "change." + name);
    double step = floats(golden, "change_step." + name)[0];
    std::vector<double> before = floats(start, "params." + name);
    std::vector<double> after =
        floats(final.expect("params." + name, P3D_F32, change.shape));
    for (size_t i = 0; i < before.size(); ++i) {
      int16_t steps;
      std::memcpy(&steps, change.data + 2 * i, 2);
      distances.push_back(std::abs(after[i] - (before[i] + steps * step)) +
                          step / 2);
    }
  }
  return distances;
}

void checkFinal(const Arguments &arguments, const SafetensorsFile &golden,
                Verdict &verdict) {
  std::vector<double> distances = finalDistances(arguments, golden);
  if (distances.empty())
    userError("{}: has no final parameters to compare --export with",
              golden.name());
  // A NaN counts as far away; it would break the order.
  for (double &distance : distances)
    if (std::isnan(distance))
      distance = INFINITY;
  std::sort(distances.begin(), distances.end());
  for (const Share &share : finalShares) {
    size_t count = size_t(std::ceil(share.part * double(distances.size())));
    verdict.add(fmt::format("{:g}% of parameters", share.part * 100),
                distances[count - 1], share.distance);
  }
}

bool readFlag(const std::string &argument, const char *name,
              std::string &value) {
  std::string prefix = fmt::format("--{}=", name);
  if (argument.compare(0, prefix.size(), prefix) != 0)
    return false;
  value = argument.substr(prefix.size());
  return true;
}

Arguments readArguments(int argc, char **argv) {
  Arguments arguments;
  std::string limits = limitsTable[0].name, steps;
  for (int i = 1; i < argc; ++i)
    if (!readFlag(argv[i], "golden", arguments.golden) &&
        !readFlag(argv[i], "params", arguments.params) &&
        !readFlag(argv[i], "log", arguments.log) &&
        !readFlag(argv[i], "grads", arguments.gradients) &&
        !readFlag(argv[i], "export", arguments.exported) &&
        !readFlag(argv[i], "limits", limits) &&
        !readFlag(argv[i], "steps", steps))
      userError("unknown argument {}\n{}", argv[i], usage);
  if (arguments.golden.empty() || arguments.params.empty() ||
      arguments.log.empty() || arguments.gradients.empty())
    userError("{}", usage);
  const Limits *row =
      std::find_if(std::begin(limitsTable), std::end(limitsTable),
                   [&](const Limits &limit) { return limits == limit.name; });
  if (row == std::end(limitsTable))
    userError("--limits={}: expected f32, bf16 or f16", limits);
  arguments.limits = row;
  if (!steps.empty())
    arguments.steps = std::stoul(steps);
  return arguments;
}

int check(const Arguments &arguments) {
  SafetensorsFile golden(arguments.golden);
  Verdict verdict;
  checkLog(arguments, golden, verdict);
  checkGradients(arguments, golden, verdict);
  if (!arguments.exported.empty())
    checkFinal(arguments, golden, verdict);
  fmt::print("{}{}\n", verdict.figures,
             verdict.faults.empty()
                 ? "OK"
                 : fmt::format("FAIL: {}", fmt::join(verdict.faults, "; ")));
  return verdict.faults.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return check(readArguments(argc, argv));
  } catch (const Error &error) {
    fmt::print(stderr, "check-golden: error: {}\n", error.what());
    return int(error.code());
  }
}
