#include "compiler/Options.h"
#include "compiler/Pipeline.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/WithColor.h"

using namespace p3d;
namespace cl = llvm::cl;

namespace {
cl::OptionCategory category("p3dc options");

cl::opt<std::string> input(cl::Positional, cl::desc("MODEL.mlir"), cl::Required, cl::cat(category));
cl::opt<std::string> output("o", cl::desc("directory of the compiled programs (with --emit: a file)"), cl::value_desc("path"), cl::cat(category));
cl::opt<std::string> mesh("mesh", cl::desc("TPxPPxDP like 4x4x2, or tp=4,pp=4,dp=2 (1x1x1)"), cl::init("1x1x1"), cl::value_desc("mesh"), cl::cat(category));
cl::opt<std::string> rankOrder("rank-order", cl::desc("axes of the rank number, the fastest first: tp-dp-pp or tp-pp-dp (tp-dp-pp)"), cl::init("tp-dp-pp"), cl::value_desc("order"), cl::cat(category));
cl::opt<int64_t> microbatches("microbatches", cl::desc("microbatches per replica and step (1 if PP=1, else the largest divisor of the replica's batch not above 2 x PP)"), cl::init(0), cl::value_desc("n"), cl::cat(category));
cl::opt<std::string> schedule("schedule", cl::desc("gpipe or 1f1b (1f1b)"), cl::init("1f1b"), cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> stages("stages", cl::desc("auto, or the layers of each stage like 20,20,20,20 (auto)"), cl::init("auto"), cl::value_desc("counts"), cl::cat(category));
cl::opt<std::string> optimizer("optimizer", cl::desc("adamw, sgd or none (adamw)"), cl::init("adamw"), cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> params("params", cl::desc("regular expression: arguments that are parameters"), cl::value_desc("regex"), cl::cat(category));
cl::opt<std::string> inputs("inputs", cl::desc("regular expression: arguments that are inputs"), cl::value_desc("regex"), cl::cat(category));
cl::opt<std::string> freeze("freeze", cl::desc("regular expression: parameters that are loaded but not trained"), cl::value_desc("regex"), cl::cat(category));
cl::opt<std::string> cpu("cpu", cl::desc("CPU to generate code for: native or a name (native)"), cl::init("native"), cl::value_desc("name"), cl::cat(category));
cl::opt<std::string> emit("emit", cl::desc("print the IR after a level and stop"), cl::value_desc("level"), cl::cat(category));
cl::opt<std::string> from("from", cl::desc("the input is the IR after a level; go on from there"), cl::value_desc("level"), cl::cat(category));
cl::opt<std::string> dump("dump", cl::desc("directory for the IR after every level"), cl::value_desc("dir"), cl::cat(category));
cl::opt<bool> timing("timing", cl::desc("wall seconds of each level and pass, peak memory"), cl::cat(category));

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

bool validate() {
  if (microbatches.getNumOccurrences() && microbatches < 1)
    return complain("--microbatches=" + llvm::Twine(microbatches) + ": expected at least 1");
  return isOneOf("rank-order", rankOrder, {"tp-dp-pp", "tp-pp-dp"}) && isOneOf("schedule", schedule, {"gpipe", "1f1b"}) &&
         isOneOf("optimizer", optimizer, {"adamw", "sgd", "none"}) && isRegex("params", params) && isRegex("inputs", inputs) &&
         isRegex("freeze", freeze) && isLevel("emit", emit) && isLevel("from", from);
}
} // namespace

std::optional<Options> Options::parse(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  std::string overview = "p3dc: compiles a transformer's loss function to the programs of every rank\n\nLevels of --emit and --from:\n";
  for (const Level &level : levels())
    overview += "  " + std::string(level.name) + ": " + level.meaning + "\n";
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()) || !validate())
    return std::nullopt;
  llvm::Expected<Mesh> parsedMesh = Mesh::parse(mesh);
  if (!parsedMesh) {
    complain(llvm::toString(parsedMesh.takeError()));
    return std::nullopt;
  }
  Options options;
  options.input = input;
  options.output = output;
  options.mesh = *parsedMesh;
  options.rankOrder = rankOrder;
  if (microbatches.getNumOccurrences())
    options.microbatches = microbatches;
  options.schedule = schedule;
  options.stages = stages;
  options.optimizer = optimizer;
  options.params = params;
  options.inputs = inputs;
  options.freeze = freeze;
  options.cpu = cpu;
  options.emit = emit;
  options.from = from;
  options.dump = dump;
  options.timing = timing;
  if (options.emit.empty() && options.output.empty()) {
    complain("neither -o DIR nor --emit=LEVEL is given; nothing would be written");
    return std::nullopt;
  }
  return options;
}
