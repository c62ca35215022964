#include "compiler/Driver.h"
#include "compiler/BugReport.h"
#include "compiler/Cube.h"
#include "compiler/DeviceMemory.h"
#include "compiler/Explanation.h"
#include "compiler/Options.h"
#include "compiler/Pipeline.h"
#include "compiler/Progress.h"
#include "compiler/RecomputeSearch.h"
#include "compiler/Reference.h"
#include "compiler/Registration.h"
#include "compiler/SourceLocations.h"
#include "compiler/Report.h"
#include "compiler/Timeline.h"
#include "compiler/WritePrograms.h"
#include "dialects/StableHLO/StableHLOText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/FileUtilities.h"
#include "passes/Lower/EmitKernels.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include <chrono>
#include <csignal>
#include <sys/resource.h>

using namespace mlir;
using namespace p3d;

namespace {
constexpr int kUserError = 1;

int complain(const Twine &text) {
  llvm::errs() << "p3dc: error: " << text << "\n";
  return kUserError;
}

class Clock {
public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Lets a written file appear, unless something went wrong.
LogicalResult keepFile(llvm::ToolOutputFile &file, StringRef name) {
  file.os().flush();
  if (file.os().has_error()) {
    complain(name + ": " + file.os().error().message());
    file.os().clear_error();
    return failure();
  }
  file.keep();
  return success();
}

/// `module` and the text behind it, to a file that appears only when complete.
LogicalResult writeModule(ModuleOp module, StringRef path, StringRef behind = "") {
  std::string error;
  auto file = openOutputFile(path.empty() ? "-" : path, &error);
  StringRef name = path.empty() ? "standard output" : path;
  if (!file) {
    complain(error);
    return failure();
  }
  module.print(file->os());
  file->os() << "\n" << behind;
  return keepFile(*file, name);
}

/// What a GPU does, to be read: buffers at their offsets, commands, streams and events in order, and the kernels as PTX.
LogicalResult writeDevicePrograms(ModuleOp planned, ModuleOp lowered, const Options &options) {
  for (auto kernel : planned.getOps<func::FuncOp>())
    if (!kernel.isExternal())
      kernel.eraseBody();
  FailureOr<std::string> ptx = lower::emitPtx(lowered, {llvm::to_vector(options.gpuArchitectures), libraryDirectory()});
  return failed(ptx) ? failure() : writeModule(planned, options.output, "\n" + *ptx);
}

/// Runs `level`; with --dump writes its IR, with --timing says how long it took. `bug` says what to report if the failure is ours.
LogicalResult runLevel(ModuleOp module, const Level &level, const Options &options, std::string &bug) {
  Clock clock;
  PassManager passes(module.getContext());
  // The IR of --from may have been edited.
  if (options.from.empty())
    passes.addInstrumentation(std::make_unique<BugReport>(bug));
  if (options.timing)
    passes.enableTiming();
  passes.enableVerifier(false); // each level is verified as a whole
  level.build(passes, options);
  if (failed(passes.run(module)))
    return failure();
  if (failed(verify(module))) {
    BugReport(bug).report(level.name, module);
    return failure();
  }
  if (options.timing)
    llvm::errs() << llvm::format("%-10s %8.3f s\n", level.name, clock.seconds());
  if (options.dump.empty())
    return success();
  return writeModule(module, options.dump + "/" + level.name + ".mlir");
}

/// What the output needs of levels that later ones consume, and what to report of a failure that is ours.
struct Snapshots {
  std::string bug;
  OwningOpRef<ModuleOp> imported; ///< where other plans may be asked for
  OwningOpRef<ModuleOp> step, sharded, scheduled;
  OwningOpRef<ModuleOp> planned; ///< after memory, where --emit=lower shows it beside the kernels
  std::vector<StageMemory> memory;
};

ManifestInputs manifestInputs(const Snapshots &snapshots, const Options &options) {
  ManifestInputs inputs;
  inputs.model = llvm::sys::path::stem(options.input).str();
  inputs.rankOrder = *RankOrder::parse(options.rankOrder);
  inputs.cluster = options.cluster;
  inputs.schedule = options.schedule;
  inputs.costTable = options.costTable;
  inputs.stages = options.stages;
  inputs.zero = options.zero;
  inputs.recompute = options.recompute;
  inputs.memory = snapshots.memory;
  if (snapshots.step)
    for (auto program : snapshots.step.get().getOps<graph::ProgramOp>())
      inputs.modelFlops = countFlops(program.getBody().front());
  return inputs;
}

/// Prints the report if it is asked for, then complains if the plan does not fit its devices.
LogicalResult judgePlan(Snapshots &snapshots, const Options &options, Progress &progress) {
  std::optional<Replanner> replanner;
  if (snapshots.imported)
    replanner.emplace(*snapshots.imported, *snapshots.scheduled, options, progress);
  if (options.report) {
    Report report = makeReport(*snapshots.scheduled, manifestInputs(snapshots, options));
    report.deviceMemory = options.deviceMemory;
    if (replanner)
      report.alternatives = replanner->singles();
    progress.finish();
    if (options.reportAsJson)
      llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(toJson(report, options.cluster))) << "\n";
    else
      printText(report, options.cluster, llvm::outs());
    if (flushOutput() != 0)
      return failure();
  }
  return checkDeviceMemory(*snapshots.scheduled, snapshots.memory, options, replanner ? &*replanner : nullptr);
}

/// What every rank program says of the compile that it belongs to: model, order of ranks, and a hash by which ranks know that they fit together.
void nameCompile(ModuleOp module, const Options &options) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  llvm::MD5 hash;
  hash.update(stream.str());
  hash.update(options.rankOrder);
  Builder builder(module.getContext());
  module->setAttr("p3d.model", builder.getStringAttr(llvm::sys::path::stem(options.input)));
  module->setAttr("p3d.rank_order", builder.getStringAttr(options.rankOrder));
  module->setAttr("p3d.fingerprint", builder.getStringAttr(hash.final().digest()));
}

/// Runs the levels after `options.from` up to `options.emit`, or all. Decides what `options` leave to be decided by a plan of the memory.
LogicalResult runLevels(ModuleOp module, Options &options, Snapshots &snapshots, Progress &progress) {
  bool started = options.from.empty();
  for (const auto &[index, level] : llvm::enumerate(levels())) {
    StringRef name = level.name;
    progress.enter(llvm::formatv("{0} (level {1} of {2})", name, index + 1, levels().size()));
    if (started && name == "autodiff" && failed(chooseToFit(module, options)))
      return failure();
    if (started && failed(runLevel(module, level, options, snapshots.bug)))
      return failure();
    started |= options.from == name;
    if (options.emit == name)
      return success();
    if (options.emit.empty() && started && name == "import" && (options.report || options.deviceMemory > 0))
      snapshots.imported = module.clone();
    if (options.emit.empty() && name == "autodiff")
      snapshots.step = module.clone();
    if (options.emit.empty() && name == "shard") {
      snapshots.sharded = module.clone();
      removeShardings(*snapshots.sharded);
    }
    if (options.emit.empty() && name == "schedule") {
      snapshots.scheduled = module.clone();
      if (options.output.empty() && !options.report)
        return success(); // only to be explained
      nameCompile(module, options);
    }
    if (options.emit == "lower" && options.forCuda && name == "memory")
      snapshots.planned = module.clone();
    if (options.emit.empty() && name == "memory") {
      snapshots.memory = measureMemory(module, *snapshots.scheduled);
      if (failed(judgePlan(snapshots, options, progress)))
        return failure();
      if (options.output.empty())
        return success(); // only to be reported
    }
  }
  return success();
}

/// What --explain says, on stdout. Returns the exit code.
int printExplanation(ModuleOp scheduled, const ManifestInputs &inputs, bool asJson) {
  Explanation explanation = explain(scheduled, inputs);
  if (asJson)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(toJson(explanation, scheduled, inputs))) << "\n";
  else
    printText(explanation, scheduled, inputs, llvm::outs());
  return flushOutput();
}

/// Writes the timeline to the file that it is asked for in.
LogicalResult writeTimeline(ModuleOp scheduled, const ManifestInputs &inputs, StringRef path) {
  std::string error;
  auto file = openOutputFile(path, &error);
  if (!file) {
    complain(error);
    return failure();
  }
  Timeline timeline = makeTimeline(scheduled, inputs);
  if (path.ends_with(".svg"))
    writeSvg(timeline, file->os());
  else
    file->os() << llvm::formatv("{0:2}", llvm::json::Value(makeTrace(timeline))) << "\n";
  return keepFile(*file, path);
}

/// Writes what is asked for. Returns the exit code.
int writeOutput(ModuleOp module, Snapshots &snapshots, const Options &options, Progress &progress) {
  if (!options.emit.empty() || options.explain)
    progress.finish();
  progress.enter("writing");
  if (snapshots.planned)
    return failed(writeDevicePrograms(*snapshots.planned, module, options)) ? kUserError : 0;
  if (!options.emit.empty())
    return failed(writeModule(module, options.output)) ? kUserError : 0;
  ManifestInputs inputs = manifestInputs(snapshots, options);
  if (int code = options.explain ? printExplanation(*snapshots.scheduled, inputs, options.explainAsJson) : 0)
    return code;
  if (!options.timeline.empty() && failed(writeTimeline(*snapshots.scheduled, inputs, options.timeline)))
    return kUserError;
  if (options.output.empty())
    return 0;
  auto orNone = [](OwningOpRef<ModuleOp> &kept) { return kept ? *kept : ModuleOp(); };
  if (int code = writePrograms({*snapshots.scheduled, module, orNone(snapshots.step), orNone(snapshots.sharded)}, inputs, options))
    return code;
  progress.finish();
  // Tools read the explanation or the report from there.
  if (!options.explainAsJson && !options.reportAsJson)
    printCube(makeCube(*snapshots.scheduled, inputs.rankOrder, inputs.cluster), llvm::outs());
  return flushOutput();
}

void printPeakMemory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  llvm::errs() << llvm::format("peak memory %.1f MiB\n", usage.ru_maxrss / 1024.0);
}

/// Exporters leave the module and its functions without a location, the parser an empty module at line 0; messages about the whole of them then name the
/// start of the file.
Location locateWhole(ModuleOp module, StringRef path) {
  Location whole = FileLineColLoc::get(module.getContext(), path, 1, 1);
  auto place = dyn_cast<FileLineColLoc>(module.getLoc());
  if (isa<UnknownLoc>(module.getLoc()) || (place && place.getLine() == 0))
    module->setLoc(whole);
  for (Operation &op : *module.getBody())
    if (isa<UnknownLoc>(op.getLoc()))
      op.setLoc(whole);
  return whole;
}

int compile(Options options) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> text = stablehlo::openText(options.input, &error);
  if (!text)
    return complain(error);
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  Progress progress(llvm::errs(), llvm::sys::Process::StandardErrIsDisplayed());
  progress.enter("reading");
  OwningOpRef<ModuleOp> module = parseLocated(sources, &context);
  if (!module)
    return kUserError;
  Location whole = locateWhole(*module, options.input);
  if (failed(lower::checkCpu(whole, options.cpu)) || (options.forCuda && failed(lower::checkArchitectures(whole, options.gpuArchitectures))))
    return kUserError;
  if (!options.output.empty() && options.emit.empty())
    if (std::string fault = checkOutput(options.output); !fault.empty())
      return complain(fault);
  if (!options.dump.empty())
    if (std::error_code code = llvm::sys::fs::create_directories(options.dump))
      return complain(options.dump + ": " + code.message());
  Snapshots snapshots;
  if (failed(runLevels(*module, options, snapshots, progress))) {
    if (snapshots.bug.empty())
      return kUserError;
    complain(snapshots.bug);
    return kOurError;
  }
  Clock clock;
  int code = writeOutput(*module, snapshots, options, progress);
  if (options.timing)
    llvm::errs() << llvm::format("write      %8.3f s\n", clock.seconds());
  if (options.timing)
    printPeakMemory();
  return code;
}
} // namespace

int p3d::runDriver(int argc, char **argv) {
  // A limit on the size of files is to be seen as a write error.
  std::signal(SIGXFSZ, SIG_IGN);
  installFatalErrorReport();
  std::optional<Options> options = Options::parse(argc, argv);
  return options ? compile(std::move(*options)) : kUserError;
}
