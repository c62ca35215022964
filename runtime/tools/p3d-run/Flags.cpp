// The table of flags.
#include "runtime/tools/p3d-run/Flags.h"
#include "runtime/Data/DataMap.h"
#include "runtime/Error.h"
#include "runtime/include/p3d/units.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace p3d {
namespace {

/// Which optimizer, target or type has to be compiled in for a flag to mean
/// anything.
enum class Needs { Nothing, AnyOptimizer, AdamW, Sgd, Cpu, Cuda, F16 };

struct Flag {
  const char *name;
  const char *value; ///< what stands behind the =, or null
  const char *help;
  Needs needs;
  void (*read)(CommandLine &line, const Flag &flag, const std::string &text);
  /// What to do where it does not apply, if that is not to leave it out.
  const char *instead = nullptr;
};

double readNumber(const Flag &flag, const std::string &text, double low,
                  double high) {
  double value = 0;
  auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() ||
      !(value >= low && value <= high))
    userError("--{}={}: expected a number from {} to {}", flag.name, text, low,
              high);
  return value;
}

template <typename T>
T readInteger(const Flag &flag, const std::string &text, T low, T high) {
  T value = 0;
  auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() ||
      value < low || value > high)
    userError("--{}={}: expected a whole number from {} to {}", flag.name, text,
              low, high);
  return value;
}

std::string readPath(const Flag &flag, const std::string &text) {
  if (text.empty())
    userError("--{}= needs a file name", flag.name);
  return text;
}

constexpr double huge = 1e30;
constexpr int64_t many = int64_t(1) << 40;

// Each entry is one flag: what --help says and how its value is read.
// not messages: what --help says is printed by --help
const Flag flags[] = {
    {"steps", "N", "number of training steps; after --resume of the last one", Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.steps = readInteger<int64_t>(flag, text, 1, UINT32_MAX);
     }},
    {"params", "FILE.safetensors",
     "start from these parameters (without it: from --seed)", Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.params = readPath(flag, text);
     }},
    {"init", "auto|FILE.json",
     "how parameters start without --params: by their use, or by rules, a list "
     "of {\"pattern\", \"kind\", \"std\"} (auto)",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.init = readPath(flag, text);
     }},
    {"data", "FILE",
     "a .safetensors batch, used again each step, or a file of tokens, of which "
     "each epoch draws every window once",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.data = readPath(flag, text);
     }},
    {"data-type", "i32|u16",
     "type of the tokens of files that have no header of llm.c (i32)",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       if (text != "i32" && text != "u16")
         userError("--{}={}: expected {}", flag.name, text, flag.value);
       line.run.dataOptions.type =
           text == "u16" ? TokenType::U16 : TokenType::I32;
     }},
    {"data-order", "shuffled|file",
     "order of the windows of an epoch: by --seed, the same on any mesh, or as "
     "they stand (shuffled)",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       if (text != "shuffled" && text != "file")
         userError("--{}={}: expected {}", flag.name, text, flag.value);
       line.run.dataOptions.order =
           text == "file" ? DataOrder::File : DataOrder::Shuffled;
     }},
    {"data-map", "NAME=EXPR,...",
     "what files of tokens put into inputs of other names: x[0:s], x[1:s+1], range (0, 1, ...), or a number",
     Needs::Nothing,
     [](CommandLine &line, const Flag &, const std::string &text) {
       parseDataMap(text);
       line.run.dataOptions.map = text;
     }},
    {"eval-data", "FILE",
     "the loss on all whole batches of this file, after the last step, and see "
     "--eval-every",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.evalData = readPath(flag, text);
     }},
    {"eval-every", "N", "evaluate every N steps too", Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.evalEvery = readInteger<int64_t>(flag, text, 1, UINT32_MAX);
     }},
    {"lr", "X", "learning rate (0.001)", Needs::AnyOptimizer,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.learningRate = readNumber(flag, text, 0, huge);
     }},
    {"lr-schedule", "constant|cosine|linear|wsd",
     "how the learning rate moves after the warm-up; wsd falls over the last "
     "fifth of the steps (constant)",
     Needs::AnyOptimizer,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       if (!parseSchedule(text, line.run.schedule))
         userError("--{}={}: expected {}", flag.name, text, flag.value);
     }},
    {"warmup", "N", "steps over which the learning rate rises linearly (0)",
     Needs::AnyOptimizer,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.warmup = readInteger<int64_t>(flag, text, 0, many);
     }},
    {"min-lr", "X", "learning rate at the end of cosine, linear and wsd (0)",
     Needs::AnyOptimizer,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.minLearningRate = readNumber(flag, text, 0, huge);
     }},
    {"betas", "A,B", "decay of AdamW's two moments (0.9,0.95)", Needs::AdamW,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       size_t comma = text.find(',');
       if (comma == std::string::npos)
         userError("--betas={}: expected two numbers, as 0.9,0.95", text);
       line.run.beta1 = readNumber(flag, text.substr(0, comma), 0, 1);
       line.run.beta2 = readNumber(flag, text.substr(comma + 1), 0, 1);
     }},
    {"eps", "X", "AdamW's epsilon (1e-8)", Needs::AdamW,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.epsilon = readNumber(flag, text, 0, huge);
     }},
    {"weight-decay", "X", "decay of parameters of two or more dimensions (0.1)",
     Needs::AnyOptimizer,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.weightDecay = readNumber(flag, text, 0, huge);
     }},
    {"momentum", "X", "momentum of sgd (0)", Needs::Sgd,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.momentum = readNumber(flag, text, 0, 1);
     }},
    {"clip", "X",
     "largest norm of the whole gradient; 0 neither clips nor, unless the loss "
     "is scaled, computes it (1)",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.clip = readNumber(flag, text, 0, huge);
     }},
    {"loss-scale", "dynamic|X",
     "factor on the loss of a program that computes in f16, so that small "
     "gradients are not rounded to zero; a step whose gradient overflows is "
     "skipped, and dynamic halves it then, from 65536, and doubles it after 2000 "
     "steps without one (dynamic)",
     Needs::F16,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.lossScale.isDynamic = text == "dynamic";
       if (text != "dynamic")
         line.run.lossScale.value = readNumber(flag, text, 1, huge);
     }},
    {"seed", "N", "seed of the parameters and of random keys (0)",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.seed = readInteger<uint64_t>(flag, text, 0, UINT64_MAX);
     }},
    {"log", "FILE.jsonl", "write one JSON object per step", Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.log = readPath(flag, text);
     }},
    {"export", "FILE.safetensors", "write the parameters after the last step",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.exportPath = readPath(flag, text);
     }},
    {"save", "DIR",
     "write checkpoints DIR/step_<N> after the last step, and see --save-every",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.saveDirectory = readPath(flag, text);
     }},
    {"save-every", "N", "write one every N steps too, while training goes on",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.saveEvery = readInteger<int64_t>(flag, text, 1, UINT32_MAX);
     }},
    {"keep-last", "N", "of the checkpoints up to that of now keep N (all)",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.keepLast = readInteger<int64_t>(flag, text, 1, many);
     }},
    {"shard-size", "SIZE",
     "size of a checkpoint's tensors above which several files and an index "
     "hold them (5GiB)",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       std::optional<double> bytes = parseBytes(text);
       if (!bytes || *bytes < 1 || *bytes > 1e18)
         userError("--{}={}: expected a size such as 5GiB", flag.name, text);
       line.run.shardBytes = int64_t(*bytes);
     }},
    {"resume", "DIR",
     "go on after the last checkpoint in DIR, or after DIR/step_<N>, up to step "
     "--steps; any mesh, schedule and --zero read it",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.resume = readPath(flag, text);
     }},
    {"elastic", "restart",
     "when a rank fails start all again after the last checkpoint of --save",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       if (text != flag.value)
         userError("--{}={}: expected {}", flag.name, text, flag.value);
       line.restarts = true;
     }},
    {"dump-grads", "FILE.safetensors",
     "write the gradients of the first step, before clipping", Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.gradientsPath = readPath(flag, text);
     }},
    {"trace", "FILE.json",
     "what each rank did when in the first 100 steps, and how long it waited for others, "
     "for Perfetto or chrome://tracing",
     Needs::Cpu,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.tracePath = readPath(flag, text);
     },
     "what a device does when is shown by Nsight Systems, nsys profile p3d-run ..."},
    {"verify", nullptr,
     "run one step without an update and compare loss and gradients with the "
     "double-precision interpretation of the model",
     Needs::Nothing,
     [](CommandLine &line, const Flag &, const std::string &) {
       line.verify = true;
     }},
    {"cuda-graph", nullptr, "capture a step as one CUDA graph and replay it",
     Needs::Cuda,
     [](CommandLine &line, const Flag &, const std::string &) {
       line.run.cudaGraph = true;
     }},
    {"ranks-per-host", "N",
     "start N ranks; the other hosts run p3d-run too, under mpirun or srun with "
     "one process a host, or with RANK, WORLD_SIZE (hosts), MASTER_ADDR and "
     "MASTER_PORT set",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.ranksPerHost = readInteger<int>(flag, text, 1, 1 << 20);
     }},
    {"deterministic", nullptr,
     "the same bits on every run: no sums of matrix products by atomic "
     "additions (a CPU's runs always are)",
     Needs::Cuda,
     [](CommandLine &line, const Flag &, const std::string &) {
       line.run.deterministic = true;
     }},
    {"threads", "N",
     "threads of each rank's kernels; the results are the same to the bit (1)",
     Needs::Cpu,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.threads = readInteger<int>(flag, text, 1, 1024);
     },
     "a GPU has threads of its own"},
    {"timeout", "SECONDS", "longest wait of one rank for another (600)",
     Needs::Nothing,
     [](CommandLine &line, const Flag &flag, const std::string &text) {
       line.run.timeoutSeconds = readNumber(flag, text, 0.1, 1e6);
     }},
};

size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

const Flag &findFlag(const std::string &name) {
  const Flag *nearest = nullptr;
  size_t best = SIZE_MAX;
  for (const Flag &flag : flags) {
    size_t distance = editDistance(name, flag.name);
    if (distance == 0)
      return flag;
    if (distance < best)
      best = distance, nearest = &flag;
  }
  userError("unknown flag --{}; did you mean --{}? (--help lists all)", name,
            nearest->name);
}

void readFlag(CommandLine &line, const std::string &argument) {
  size_t equals = argument.find('=');
  std::string name = argument.substr(
      2, equals == std::string::npos ? equals : equals - 2);
  const Flag &flag = findFlag(name);
  if (equals == std::string::npos && flag.value)
    userError("--{0} needs a value: --{0}={1}", name, flag.value);
  if (equals != std::string::npos && !flag.value)
    userError("--{} takes no value", name);
  if (!line.given.insert(name).second)
    userError("--{} is given twice", name);
  flag.read(line, flag, flag.value ? argument.substr(equals + 1) : "");
}

/// A verification is one step without an update, whose files are its own.
void checkVerifyAlone(const CommandLine &line) {
  static const std::set<std::string> useful = {"verify", "params",  "init",   "data",
                                               "seed",   "threads", "timeout"};
  for (const std::string &name : line.given)
    if (!useful.count(name))
      userError("--{} has no effect with --verify", name);
}

void checkCheckpointFlags(const CommandLine &line) {
  for (const char *name : {"save-every", "keep-last", "shard-size", "elastic"})
    if (line.given.count(name) && !line.given.count("save"))
      userError("--{} needs --save=DIR", name);
  if (line.given.count("eval-every") && !line.given.count("eval-data"))
    userError("--eval-every needs --eval-data=FILE");
  for (const char *name : {"params", "resume"})
    if (line.given.count("init") && line.given.count(name))
      userError("--init has no effect with --{}, which says where to start", name);
  if (line.given.count("resume") && line.given.count("params"))
    userError("--params and --resume both say where to start; give one of them");
}

} // namespace

CommandLine parseCommandLine(const std::vector<std::string> &arguments) {
  CommandLine line;
  line.run.dataOptions.order = DataOrder::Shuffled;
  for (const std::string &argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      line.help = true;
      return line;
    }
    if (argument.compare(0, 2, "--") == 0)
      readFlag(line, argument);
    else if (line.directory.empty() && !argument.empty() && argument[0] != '-')
      line.directory = argument;
    else
      userError("unexpected argument \"{}\"; usage: p3d-run DIR --steps=N",
                argument);
  }
  if (line.directory.empty())
    userError("which program? usage: p3d-run DIR --steps=N");
  if (line.verify)
    checkVerifyAlone(line);
  else if (!line.given.count("steps"))
    userError("--steps=N is missing");
  checkCheckpointFlags(line);
  if (line.run.minLearningRate > line.run.learningRate)
    userError("--min-lr={} is above the learning rate {}",
              line.run.minLearningRate, line.run.learningRate);
  if (line.given.count("min-lr") &&
      line.run.schedule == LearningRateSchedule::Constant)
    userError("--min-lr has no effect with --lr-schedule=constant");
  return line;
}

void checkFlagsApply(const CommandLine &line, const Build &build) {
  Optimizer optimizer = build.optimizer();
  Target target = build.any().target;
  for (const Flag &flag : flags) {
    if (flag.needs == Needs::F16 && !build.scalesLoss() &&
        line.given.count(flag.name))
      userError("--{} has no effect: the program computes nothing in f16, and "
                "the range of its gradients needs no scale; leave it out",
                flag.name);
    if (flag.needs == Needs::Cuda && target != Target::Cuda &&
        line.given.count(flag.name))
      userError("--{} has no effect: the program was compiled with "
                "--target=cpu",
                flag.name);
    if (flag.needs == Needs::Cpu && target != Target::Cpu &&
        line.given.count(flag.name))
      userError("--{} is not supported with --target=cuda: {}", flag.name,
                flag.instead);
    bool applies = true;
    switch (flag.needs) {
    case Needs::Nothing:
    case Needs::Cpu:
    case Needs::Cuda:
    case Needs::F16:
      break;
    case Needs::AnyOptimizer:
      applies = optimizer != Optimizer::None;
      break;
    case Needs::AdamW:
      applies = optimizer == Optimizer::AdamW;
      break;
    case Needs::Sgd:
      applies = optimizer == Optimizer::Sgd;
      break;
    }
    if (!applies && line.given.count(flag.name))
      userError("--{} has no effect: the program was compiled with "
                "--optimizer={}",
                flag.name, optimizerName(optimizer));
  }
}

// not messages: what --help says
std::string helpText() {
  std::string text =
      "usage: p3d-run DIR --steps=N [flags]\n"
      "       p3d-run DIR --verify [flags]\n\n"
      "Runs all ranks of a program that p3dc made, as processes of this "
      "machine.\nOn a cluster: mpirun, srun or torchrun starts DIR/bin/rank "
      "--steps=N [flags] once for each rank.\n\n";
  for (const Flag &flag : flags)
    text += fmt::format("  --{}{}{}\n        {}\n", flag.name,
                        flag.value ? "=" : "", flag.value ? flag.value : "",
                        flag.help);
  return text + "  --help\n        this text\n\n"
                "Exit codes: 0 fine, 1 input at fault, 2 a bug of p3dc, 3 a "
                "rank failed or was stopped.\n";
}

} // namespace p3d
