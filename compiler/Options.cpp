#include "compiler/Options.h"
#include "compiler/ClusterOption.h"
#include "compiler/Pipeline.h"
#include "compiler/PlanOption.h"
#include "passes/Support/Units.h"
#include "runtime/include/p3d/units.h"
#include "passes/Schedule/Schedules.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/WithColor.h"

using namespace p3d;
namespace cl = llvm::cl;

namespace {
// not messages: what --help says
cl::OptionCategory category("p3dc options");

cl::list<std::string> inputFlag(cl::Positional, cl::desc("MODEL.mlir"), cl::cat(category));
cl::opt<std::string> outputFlag("o", cl::desc("directory of the compiled programs (with --emit: a file)"), cl::value_desc("path"), cl::cat(category));
cl::opt<std::string> meshFlag("mesh", cl::desc("TPxPPxDP like 4x4x2, or tp=4,pp=4,dp=2 (1x1x1)"), cl::init("1x1x1"), cl::value_desc("mesh"), cl::cat(category));
cl::opt<std::string> rankOrderFlag("rank-order", cl::desc("axes of the rank number, the fastest first: tp-dp-pp or tp-pp-dp (tp-dp-pp)"), cl::init("tp-dp-pp"), cl::value_desc("order"), cl::cat(category));
cl::opt<std::string> microbatchesFlag("microbatches", cl::desc("microbatches per replica and step (1 if PP=1, else the largest divisor of the replica's batch not above 2 x PP)"), cl::value_desc("n"), cl::cat(category));
cl::opt<std::string> scheduleFlag("schedule", cl::desc("gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, auto, which searches the order with the least idle time, or a file with the actions of each stage on a line (1f1b)"), cl::init("1f1b"), cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> chunksFlag("chunks", cl::desc("parts of the chain of layers on each stage, for interleaved and zb-v (2)"), cl::value_desc("n"), cl::cat(category));
cl::opt<std::string> liveFlag("live", cl::desc("with --schedule=auto: the most microbatches alive on a stage (as many as stages)"), cl::value_desc("n"), cl::cat(category));
cl::opt<std::string> costTableFlag("cost-table", cl::desc("JSON file with the measured seconds of F, B, W and comm, in place of the model's for schedules"), cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> timelineFlag("timeline", cl::desc("write when each stage does what: a picture (.svg) or a trace for Perfetto (.json); without -o nothing is compiled"), cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> stagesFlag("stages", cl::desc("auto, or the layers of each stage like 20,20,20,20 (auto)"), cl::init("auto"), cl::value_desc("counts"), cl::cat(category));
cl::opt<std::string> sequenceParallelFlag("sequence-parallel", cl::desc("auto: tp cuts the sequence between matrix products where that is cheaper; on: wherever it can; off: never (auto)"), cl::init("auto"), cl::value_desc("when"), cl::cat(category));
cl::opt<std::string> recomputeFlag("recompute", cl::desc("what the backward pass computes again instead of reading it: none, selective (attention, norms, activations), full (of each layer all but its inputs), or auto, the least of them that fits --device-memory (none)"), cl::init("none"), cl::value_desc("what"), cl::cat(category));
cl::opt<std::string> zeroFlag("zero", cl::desc("what dp cuts: 0 nothing, 1 the optimizer's state, 2 gradients too, 3 parameters too (0)"), cl::init("0"), cl::value_desc("stage"), cl::cat(category));
cl::opt<std::string> gradReduceFlag("grad-reduce", cl::desc("in which type gradients are accumulated and reduced: f32 or bf16 (f32)"), cl::init("f32"), cl::value_desc("type"), cl::cat(category));
cl::opt<std::string> planFlag("plan", cl::desc("a plan.json to obey: that of another compile, perhaps edited"), cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> optimizerFlag("optimizer", cl::desc("adamw, sgd or none (adamw)"), cl::init("adamw"), cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> paramsFlag("params", cl::desc("regular expression: arguments that are parameters"), cl::value_desc("regex"), cl::cat(category));
cl::opt<std::string> inputsFlag("inputs", cl::desc("regular expression: arguments that are inputs"), cl::value_desc("regex"), cl::cat(category));
cl::opt<std::string> freezeFlag("freeze", cl::desc("regular expression: parameters that are loaded but not trained"), cl::value_desc("regex"), cl::cat(category));
cl::opt<std::string> targetFlag("target", cl::desc("what the ranks run on: cpu or cuda (cpu)"), cl::init("cpu"), cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> gpuArchFlag("gpu-arch", cl::desc("with --target=cuda: architectures to generate code for, like sm_80,sm_90 (sm_80)"), cl::value_desc("names"), cl::cat(category));
cl::opt<std::string> cpuFlag("cpu", cl::desc("CPU to generate code for: native or a name (native)"), cl::init("native"), cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> clusterFlag("cluster", cl::desc("what the ranks run on: a100-80g, h100-80g, h200, cpu, cpu-2core or a file NAME.json, with nodes x devices like a100-80g:4x8 (cpu, with --target=cuda a100-80g; a node for each stage)"), cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> emitFlag("emit", cl::desc("print the IR after a level and stop"), cl::value_desc("level"), cl::cat(category));
cl::opt<std::string> fromFlag("from", cl::desc("the input is the IR after a level; go on from there"), cl::value_desc("level"), cl::cat(category));
cl::opt<std::string> explainFlag("explain", cl::desc("print every collective and transfer, its cost, why it is there and what would remove it, as text or json; without -o nothing is compiled"), cl::ValueOptional, cl::value_desc("format"), cl::cat(category));
cl::opt<std::string> reportFlag("report", cl::desc("print whether the plan fits, what each stage holds, how long a step takes, where it is idle and what would change that, as text or json; without -o nothing is compiled"), cl::ValueOptional, cl::value_desc("format"), cl::cat(category));
cl::opt<std::string> deviceMemoryFlag("device-memory", cl::desc("what a stage may take on its device, and --recompute=auto is to fit, like 80GB or 80GiB (that of --cluster; no limit without either)"), cl::value_desc("bytes"), cl::cat(category));
cl::opt<std::string> dumpFlag("dump", cl::desc("directory for the IR after every level"), cl::value_desc("dir"), cl::cat(category));
cl::opt<bool> timingFlag("timing", cl::desc("wall seconds of each level and pass, peak memory"), cl::cat(category));

bool complain(const llvm::Twine &text) {
  llvm::WithColor::error(llvm::errs(), "p3dc") << text << "\n";
  return false;
}

/// One of `words`, or a complaint that lists them.
bool isOneOf(llvm::StringRef flag, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> words) {
  if (llvm::is_contained(words, value))
    return true;
  return complain("--" + flag + "=" + value + ": expected " + llvm::join(words, ", "));
}

bool isRegex(llvm::StringRef flag, llvm::StringRef value) {
  std::string error;
  if (value.empty() || llvm::Regex(value).isValid(error))
    return true;
  return complain("--" + flag + "=" + value + ": " + error);
}

bool isLevel(llvm::StringRef flag, llvm::StringRef value) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Level &level : levels())
    names.push_back(level.name);
  return value.empty() || isOneOf(flag, value, names);
}

/// Position of a level in the table.
size_t positionOf(llvm::StringRef name) {
  return llvm::find_if(levels(), [&](const Level &level) { return name == level.name; }) - levels().begin();
}

/// Whether there is a way from --from to what is asked for.
bool validateLevels() {
  if (!isLevel("emit", emitFlag) || !isLevel("from", fromFlag))
    return false;
  if (fromFlag.empty())
    return true;
  if (!emitFlag.empty() && positionOf(emitFlag) < positionOf(fromFlag))
    return complain("--emit=" + emitFlag + " comes before --from=" + fromFlag);
  if (emitFlag.empty() && positionOf(fromFlag) > positionOf("schedule"))
    return complain("--from=" + fromFlag + ": the manifest of a whole compile is made of the level schedule; go on from there, or give --emit");
  return true;
}

// not messages: a name in LLVM
/// The flags of LLVM, which its libraries register, are none of p3dc.
void removeForeignFlags() {
  llvm::SmallSetVector<cl::Option *, 0> foreign;
  for (auto &entry : cl::getRegisteredOptions()) {
    cl::OptionCategory *home = entry.second->Categories.front();
    if (home != &category && home->getName() != "Generic Options")
      foreign.insert(entry.second);
  }
  for (cl::Option *option : foreign)
    option->removeArgument();
}

/// Whether the last argument is a flag that is still to get its value.
bool endsWithoutValue(llvm::StringRef last) {
  size_t dashes = last.find_first_not_of('-');
  if (dashes != 1 && dashes != 2)
    return false;
  cl::Option *option = cl::getRegisteredOptions().lookup(last.substr(dashes));
  if (!option || option->getValueExpectedFlag() != cl::ValueRequired)
    return false;
  complain(last + " needs a value: " + last + "=<" + option->ValueStr + ">");
  return true;
}

/// LLVM's complaint of a command line, in the form of every other; some it has printed itself.
bool restate(llvm::StringRef text) {
  if (text.empty())
    return false;
  llvm::SmallVector<std::string> sentences;
  for (llvm::StringRef line : llvm::split(text.trim(), '\n')) {
    line.consume_front("p3dc: ");
    line = line.rtrim(".!");
    sentences.push_back(llvm::toLower(line.front()) + line.drop_front().str());
  }
  return complain(llvm::join(sentences, "; "));
}

bool parseMicrobatches(std::optional<int64_t> &microbatches) {
  int64_t count = 0;
  if (!microbatchesFlag.getNumOccurrences() && microbatchesFlag.empty())
    return true;
  if (llvm::StringRef(microbatchesFlag).getAsInteger(10, count) || count < 1)
    return complain("--microbatches=" + microbatchesFlag + ": expected a whole number of at least 1");
  microbatches = count;
  return true;
}

bool parseArchitectures(std::vector<int64_t> &architectures) {
  if (targetFlag != "cuda" && gpuArchFlag.getNumOccurrences())
    return complain("--gpu-arch has no effect without --target=cuda");
  llvm::SmallVector<llvm::StringRef> names;
  (gpuArchFlag.empty() ? llvm::StringRef("sm_80") : llvm::StringRef(gpuArchFlag)).split(names, ',');
  for (llvm::StringRef name : names) {
    int64_t number = 0;
    llvm::StringRef digits = name;
    if (!digits.consume_front("sm_") || digits.getAsInteger(10, number))
      return complain("--gpu-arch=" + gpuArchFlag + ": '" + name + "' is no architecture; expected names like sm_80, separated by commas");
    if (!llvm::is_contained(architectures, number))
      architectures.push_back(number);
  }
  return true;
}

/// Makes the decision of the plan where the flag is not given.
bool obey(cl::opt<std::string> &flag, const std::string &planned) {
  if (planned.empty())
    return true;
  if (flag.getNumOccurrences() && flag != planned)
    return complain("--" + flag.ArgStr + "=" + flag + " contradicts --plan=" + planFlag + ", which says " + planned + "; leave out the flag, or change the plan");
  flag = planned;
  return true;
}

/// The order of --plan, where no name says it.
std::string plannedOrder;

bool obeyPlan() {
  if (planFlag.empty())
    return true;
  llvm::Expected<PlannedFlags> planned = readPlannedFlags(planFlag);
  if (!planned)
    return complain(llvm::toString(planned.takeError()));
  plannedOrder = planned->order;
  // Sizes are compared, not how they are spelt.
  llvm::Expected<Mesh> given = Mesh::parse(meshFlag), said = Mesh::parse(planned->mesh.empty() ? meshFlag : planned->mesh);
  bool isSame = given && said && std::tie(given->tp, given->pp, given->dp) == std::tie(said->tp, said->pp, said->dp);
  llvm::consumeError(given.takeError());
  llvm::consumeError(said.takeError());
  return (isSame || obey(meshFlag, planned->mesh)) && obey(rankOrderFlag, planned->rankOrder) && obey(microbatchesFlag, planned->microbatches) &&
         obey(stagesFlag, planned->stages) && obey(scheduleFlag, planned->schedule) && obey(chunksFlag, planned->chunks) && obey(zeroFlag, planned->zero) && obey(recomputeFlag, planned->recompute);
}

bool isRecompute() {
  llvm::SmallVector<llvm::StringRef> words(std::begin(kRecomputeChoices), std::end(kRecomputeChoices));
  words.push_back("auto");
  return isOneOf("recompute", recomputeFlag, words);
}

/// What is read off the plan of a whole compile.
bool validateReport() {
  if (reportFlag.getNumOccurrences() && !emitFlag.empty())
    return complain("--report reads the plan of a whole compile, and --emit=" + emitFlag + " stops on the way to it; leave out one of them");
  if (reportFlag == "json" && explainFlag == "json")
    return complain("--report=json and --explain=json both write to standard output; ask for one at a time");
  return true;
}

/// Without a word on devices a stage may take what it takes.
bool parseDeviceMemory(Options &options) {
  double &bytes = options.cluster.memoryBytes;
  if (deviceMemoryFlag.getNumOccurrences()) {
    std::optional<double> given = parseBytes(deviceMemoryFlag);
    if (!given)
      return complain("--device-memory=" + deviceMemoryFlag + ": expected bytes like 80GB, 80GiB or 1024");
    bytes = *given;
  }
  if (deviceMemoryFlag.getNumOccurrences() || clusterFlag.getNumOccurrences())
    options.deviceMemory = int64_t(std::min(bytes, 0x1p62));
  return true;
}

/// The explanation is of the whole compile.
bool validateExplain() {
  if (explainFlag.getNumOccurrences() && !emitFlag.empty())
    return complain("--explain reads the plan of a whole compile, and --emit=" + emitFlag + " stops on the way to it; leave out one of them");
  return true;
}

/// A name of the table; else what is there or looks like a path is a file.
bool namesFile() { return !findSchedule(scheduleFlag) && (llvm::sys::fs::exists(scheduleFlag) || llvm::StringRef(scheduleFlag).contains('.')); }

bool parseCount(const cl::opt<std::string> &flag, int64_t &count) {
  if (flag.getNumOccurrences() && (llvm::StringRef(flag).getAsInteger(10, count) || count < 1))
    return complain("--" + flag.ArgStr + "=" + flag + ": expected a whole number of at least 1");
  return true;
}

bool parseNamedSchedule(Options &options) {
  const NamedSchedule *schedule = findSchedule(scheduleFlag);
  if (!schedule)
    return complain("--schedule=" + scheduleFlag + ": expected " + getScheduleNames() + ", or a file");
  options.chunks = schedule->chunks;
  if (!parseCount(chunksFlag, options.chunks))
    return false;
  if (schedule->mostChunks == schedule->chunks && options.chunks != schedule->chunks)
    return complain("--chunks=" + chunksFlag + ": --schedule=" + scheduleFlag + " has " + llvm::Twine(schedule->chunks) +
                    " on each stage; interleaved takes any number");
  return true;
}

bool parseWrittenSchedule(Options &options) {
  int64_t stages = options.mesh.pp, microbatches = options.microbatches.value_or(0);
  llvm::Expected<WrittenSchedule> written = plannedOrder.empty() ? readScheduleFile(scheduleFlag, stages, microbatches)
                                                                 : readSchedule(plannedOrder, planFlag, stages, microbatches);
  if (!written)
    return complain(llvm::toString(written.takeError()));
  options.chunks = countChunks(written->orders);
  options.microbatches = countMicrobatches(written->orders);
  int64_t chunks = options.chunks;
  if (!parseCount(chunksFlag, chunks))
    return false;
  if (chunks != options.chunks)
    return complain("--chunks=" + chunksFlag + ": --schedule=" + scheduleFlag + " has " + llvm::Twine(options.chunks) + " on each stage");
  options.written = std::move(*written);
  return true;
}

/// The schedule and what it is made with; the mesh and the microbatches are parsed.
bool parseSchedule(Options &options) {
  options.schedule = scheduleFlag;
  if (liveFlag.getNumOccurrences() && scheduleFlag != "auto")
    return complain("--live=" + liveFlag + " is the limit of the search, and has no effect without --schedule=auto");
  if (liveFlag.getNumOccurrences() && !plannedOrder.empty())
    return complain("--live=" + liveFlag + " is the limit of the search, and --plan=" + planFlag + " has its order; leave out the flag, or \"order\" in the plan");
  if (!parseCount(liveFlag, options.live) || !(namesFile() || !plannedOrder.empty() ? parseWrittenSchedule(options) : parseNamedSchedule(options)))
    return false;
  if (costTableFlag.empty())
    return true;
  llvm::Expected<CostTable> table = readCostTable(costTableFlag, options.mesh.pp);
  if (!table)
    return complain(llvm::toString(table.takeError()));
  options.costTable = std::move(*table);
  return true;
}

/// The timeline is of a whole plan.
bool validateTimeline() {
  llvm::StringRef path = timelineFlag;
  if (!path.empty() && !path.ends_with(".svg") && !path.ends_with(".json"))
    return complain("--timeline=" + path + ": expected a file .svg, a picture, or .json, a trace for Perfetto");
  if (!path.empty() && !emitFlag.empty())
    return complain("--timeline shows the plan of a whole compile, and --emit=" + emitFlag + " stops on the way to it; leave out one of them");
  return true;
}

bool validate() {
  if (inputFlag.size() != 1)
    return complain((inputFlag.empty() ? "no model is given" : "more than one model is given: " + llvm::join(inputFlag, ", ")) +
                    "; usage: p3dc MODEL.mlir --mesh=4x4x2 -o DIR");
  return isOneOf("rank-order", rankOrderFlag, {"tp-dp-pp", "tp-pp-dp"}) &&
         isOneOf("sequence-parallel", sequenceParallelFlag, {"auto", "on", "off"}) && isOneOf("grad-reduce", gradReduceFlag, {"f32", "bf16"}) && isRecompute() && isOneOf("zero", zeroFlag, {"0", "1", "2", "3"}) && isOneOf("target", targetFlag, {"cpu", "cuda"}) && isOneOf("optimizer", optimizerFlag, {"adamw", "sgd", "none"}) && isRegex("params", paramsFlag) && isRegex("inputs", inputsFlag) &&
         isRegex("freeze", freezeFlag) && (explainFlag.empty() || isOneOf("explain", explainFlag, {"text", "json"})) && (reportFlag.empty() || isOneOf("report", reportFlag, {"text", "json"})) && validateLevels() && validateExplain() && validateReport() && validateTimeline();
}
} // namespace

// not messages: what --help says
static std::string overview() {
  std::string text = "p3dc: compiles a transformer's loss function to the programs of every rank\n\nLevels of --emit and --from:\n";
  for (const Level &level : levels())
    text += "  " + std::string(level.name) + ": " + level.meaning + "\n";
  return text;
}

std::optional<Options> Options::parse(int argc, char **argv) {
  removeForeignFlags();
  if (argc > 1 && endsWithoutValue(argv[argc - 1]))
    return std::nullopt;
  std::string refused;
  llvm::raw_string_ostream stream(refused);
  if (!cl::ParseCommandLineOptions(argc, argv, overview(), &stream)) {
    restate(stream.str());
    return std::nullopt;
  }
  Options options;
  if (!obeyPlan() || !validate() || !parseMicrobatches(options.microbatches) || !parseArchitectures(options.gpuArchitectures))
    return std::nullopt;
  llvm::Expected<Mesh> parsedMesh = Mesh::parse(meshFlag);
  if (!parsedMesh) {
    complain(llvm::toString(parsedMesh.takeError()));
    return std::nullopt;
  }
  bool forCuda = targetFlag == "cuda";
  llvm::Expected<Cluster> cluster = readCluster(clusterFlag.empty() ? defaultCluster(forCuda) : llvm::StringRef(clusterFlag), *parsedMesh);
  if (!cluster) {
    complain(llvm::toString(cluster.takeError()));
    return std::nullopt;
  }
  options.input = inputFlag.front();
  options.output = outputFlag;
  options.mesh = *parsedMesh;
  if (!parseSchedule(options))
    return std::nullopt;
  options.timeline = timelineFlag;
  options.rankOrder = rankOrderFlag;
  options.sequenceParallel = sequenceParallelFlag;
  options.zero = zeroFlag[0] - '0';
  options.recompute = recomputeFlag;
  options.gradReduce = gradReduceFlag;
  options.plan = planFlag;
  options.stages = stagesFlag;
  options.optimizer = optimizerFlag;
  options.params = paramsFlag;
  options.inputs = inputsFlag;
  options.freeze = freezeFlag;
  options.forCuda = forCuda;
  options.cluster = std::move(*cluster);
  options.cpu = cpuFlag;
  options.emit = emitFlag;
  options.from = fromFlag;
  options.dump = dumpFlag;
  options.timing = timingFlag;
  options.explain = explainFlag.getNumOccurrences();
  options.explainAsJson = explainFlag == "json";
  options.report = reportFlag.getNumOccurrences();
  options.reportAsJson = reportFlag == "json";
  if (!parseDeviceMemory(options))
    return std::nullopt;
  if (options.emit.empty() && options.output.empty() && !options.explain && !options.report && options.timeline.empty()) {
    complain("none of -o DIR, --emit=LEVEL, --report, --explain and --timeline is given; nothing would be written");
    return std::nullopt;
  }
  return options;
}
