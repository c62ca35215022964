// Starts the ranks and follows them to the end.
#include "runtime/tools/p3d-run/Launch.h"
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/Train/Parameters.h"
#include "runtime/Train/Random.h"
#include "runtime/tools/p3d-run/Checkpoints.h"
#include "runtime/tools/p3d-run/Checks.h"
#include "runtime/tools/p3d-run/Cluster/Cluster.h"
#include "runtime/tools/p3d-run/Cluster/Timing.h"
#include "runtime/tools/p3d-run/Flags.h"
#include "runtime/tools/p3d-run/OutputFile.h"
#include "runtime/tools/p3d-run/Progress.h"
#include "runtime/tools/p3d-run/Ranks.h"
#include "runtime/tools/p3d-run/StartGate.h"
#include "runtime/tools/p3d-run/TraceFile.h"
#include "runtime/tools/p3d-run/Verify.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <random>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

using namespace p3d;

static int makeSignalFd() {
  // A closed pipe or a file limit is to be seen as a write error.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t handled;
  sigemptyset(&handled);
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  return signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
}

static std::string optionsText(const RunOptions &options) {
  try {
    return options.toJson();
  } catch (const nlohmann::json::exception &) {
    userError("the names of files have to be UTF-8: {} {}", options.params, options.data);
  }
}

static void setOptions(const Control &control, const RunOptions &options, int eventFd) {
  ControlHeader &header = control.header();
  std::string text = optionsText(options);
  if (text.size() > sizeof(header.options))
    internalError("the options take {} bytes", text.size());
  std::memcpy(header.options, text.data(), text.size());
  header.optionsBytes = int64_t(text.size());
  header.eventFd = eventFd;
}

namespace {

/// The files that ranks write into, of the root.
struct Outputs {
  std::unique_ptr<OutputFile> weights, gradients;
  std::unique_ptr<Verification> verification;
  std::unique_ptr<TraceFile> trace;
};

/// One run of this launcher, alone or as one of several.
class Run {
public:
  Run(CommandLine &line, Outputs &outputs, const Build &build, const Placement &placement, int signalFd);
  /// All of it.
  void run();
  /// Ends the ranks and tells other launchers that this one has failed; true: somebody else reports it.
  bool fail(const Error &error, LastWord &word);

private:
  void openEndpoints();
  void joinCluster();
  void openFiles();
  void follow();
  /// Waits for an event, and takes it.
  void wait();
  void endWhatIsDone();
  void readCheckpoints(bool waits);
  bool isSignalled();
  int64_t stepsReported() const { return progress ? progress->stepsReported() : 0; }

  CommandLine &line;
  Outputs &outputs;
  const Build &build;
  const Placement &placement;
  int signalFd, eventFd;
  Control control;
  std::unique_ptr<Cluster> cluster;   ///< none if alone
  std::unique_ptr<Progress> progress; ///< of the root
  std::unique_ptr<Checkpoints> checkpoints; ///< where --save is given
  std::unique_ptr<Ranks> ranks;
  StartGate gate;
  std::vector<FileDescriptor> listening;
  std::vector<int> inherited;
};

} // namespace

Run::Run(CommandLine &line, Outputs &outputs, const Build &build, const Placement &placement, int signalFd)
    : line(line), outputs(outputs), build(build), placement(placement), signalFd(signalFd),
      eventFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), control(Control::create(build.worldSize())),
      gate(control, line.run.timeoutSeconds), inherited{eventFd} {}

static Outputs makeOutputs(CommandLine &line, const Build &build) {
  Outputs outputs;
  if (!line.exportPath.empty())
    outputs.weights = std::make_unique<OutputFile>(line.exportPath, wholeTensors(build.distinctPrograms(), {&parameterTensors}));
  if (!line.gradientsPath.empty())
    outputs.gradients = std::make_unique<OutputFile>(line.gradientsPath, wholeTensors(build.distinctPrograms(), {&gradientTensors}));
  if (line.verify)
    outputs.verification = std::make_unique<Verification>(build, line.run);
  if (!line.tracePath.empty())
    outputs.trace = std::make_unique<TraceFile>(line.tracePath, build.worldSize());
  return outputs;
}

bool Run::isSignalled() {
  signalfd_siginfo info;
  if (read(signalFd, &info, sizeof(info)) <= 0)
    return false;
  throw Stopped(ExitCode::RankFailure, fmt::format("stopped by signal {} ({}) after step {}", info.ssi_signo,
                                                 strsignal(int(info.ssi_signo)), stepsReported()));
}

/// Of the CPU target, for ranks of other hosts: sockets at which those here listen.
void Run::openEndpoints() {
  if (build.any().target != Target::Cpu)
    return;
  for (int rank = placement.firstRank; rank < placement.firstRank + placement.rankCount; ++rank) {
    listening.push_back(listenAt(0));
    int fd = listening.back().get();
    control.rank(rank).endpoint = {placement.firstRank, portOf(fd), fd, {}};
    setText(control.rank(rank).host, hostName());
    inherited.push_back(fd);
  }
}

void Run::joinCluster() {
  if (placement.isAlone())
    return;
  std::random_device random;
  control.header().run = uint64_t(random()) << 32 | random();
  openEndpoints();
  if (checkpoints && placement.isRoot())
    checkpoints->leaveMark(control.header().run);
  RunFacts facts{build.any().fingerprint, hashName(optionsText(line.run) + line.exportPath + '\n' + line.gradientsPath),
                 outputs.weights ? outputs.weights->temporaryPath() : "",
                 outputs.gradients ? outputs.gradients->temporaryPath() : "", line.run.timeoutSeconds,
                 std::max(line.run.timeoutSeconds, shortestSilenceSeconds)};
  cluster = Cluster::make(placement, build, control, facts);
  while (!cluster->join() && !isSignalled()) {
    std::vector<pollfd> watched = cluster->sockets();
    watched.push_back({signalFd, POLLIN, 0});
    poll(watched.data(), watched.size(), 100);
  }
  if (checkpoints && !placement.isRoot())
    checkpoints->expectMark(control.header().run);
}

/// Of another launcher's file this one's ranks get a descriptor too.
static int openShared(const std::string &path) {
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    userError("{}: cannot be opened as rank 0 does: {}", path, std::strerror(errno));
  return fd;
}

void Run::openFiles() {
  auto descriptor = [&](const std::unique_ptr<OutputFile> &file, const std::string &shared) {
    int fd = file ? file->fd() : shared.empty() ? -1 : openShared(shared);
    if (fd >= 0)
      inherited.push_back(fd);
    return fd;
  };
  RunFacts agreed = cluster ? cluster->agreed() : RunFacts{};
  if (outputs.verification) {
    for (int fd : outputs.verification->fds())
      inherited.push_back(fd);
  } else {
    line.run.exportFd = descriptor(outputs.weights, agreed.exportFile);
    line.run.gradientsFd = descriptor(outputs.gradients, agreed.gradientsFile);
  }
  if (checkpoints) {
    line.run.savedFiles = checkpoints->files();
    for (const SavedFile &file : line.run.savedFiles)
      inherited.push_back(file.layoutFd);
  }
  if (outputs.trace) {
    line.run.traceFds = outputs.trace->fds();
    inherited.insert(inherited.end(), line.run.traceFds.begin(), line.run.traceFds.end());
  }
  setOptions(control, line.run, eventFd);
}

void Run::wait() {
  std::vector<pollfd> watched = {{eventFd, POLLIN, 0}, {signalFd, POLLIN, 0}};
  if (cluster)
    for (const pollfd &socket : cluster->sockets())
      watched.push_back(socket);
  size_t firstOwner = watched.size();
  std::vector<int> owners;
  for (int rank = placement.firstRank; rank < placement.firstRank + placement.rankCount; ++rank)
    if (ranks->isRunning(rank)) {
      watched.push_back({ranks->pidFd(rank), POLLIN, 0});
      owners.push_back(rank);
    }
  // Deadlines of the start and of other launchers need a look now and then.
  bool isTimed = cluster || !control.header().mayStart.load();
  // unreachable from input: poll fails for want of kernel memory only
  if (poll(watched.data(), watched.size(), isTimed ? 200 : -1) < 0 && errno != EINTR)
    userError("cannot wait for the ranks: {}", std::strerror(errno));
  uint64_t events;
  if (watched[0].revents)
    (void)!read(eventFd, &events, sizeof(events));
  isSignalled();
  for (size_t i = 0; i < owners.size(); ++i)
    if (watched[firstOwner + i].revents)
      ranks->collect(owners[i]);
}

void Run::endWhatIsDone() {
  if (cluster)
    cluster->exchange();
  bool wasOpen = control.header().mayStart.load();
  if (placement.isRoot() && build.any().target == Target::Cuda && gate.check() && !wasOpen && cluster)
    cluster->start();
  if (progress)
    progress->readSteps();
  readCheckpoints(false);
  if (outputs.gradients && progress->hasGradient()) {
    outputs.gradients->commit();
    outputs.gradients.reset();
  }
}

/// Says what was saved.
void Run::readCheckpoints(bool waits) {
  if (!checkpoints)
    return;
  for (const Checkpoints::News &news : checkpoints->poll(control, waits)) {
    if (news.isSaved) {
      progress->note(news.text);
      continue;
    }
    progress->endLine();
    fmt::print(stderr, "p3d-run: warning: {}\n", news.text);
  }
}

bool Run::fail(const Error &error, LastWord &word) {
  ranks.reset();
  readCheckpoints(true);
  word = {checkpoints ? checkpoints->last() : "", dynamic_cast<const Stopped *>(&error) != nullptr};
  return cluster && cluster->fail(error, word);
}

void Run::follow() {
  while (ranks->anyRuns()) {
    wait();
    endWhatIsDone();
  }
  endWhatIsDone();
  while (cluster && !cluster->finish()) {
    wait();
    endWhatIsDone();
  }
  if (progress)
    progress->readSteps();
}

void Run::run() {
  if (!line.run.saveDirectory.empty())
    checkpoints = std::make_unique<Checkpoints>(line, build, placement.isRoot());
  joinCluster();
  openFiles();
  if (placement.isRoot())
    progress = std::make_unique<Progress>(build, control, line.run, line.log);
  if (build.any().target != Target::Cuda)
    control.header().mayStart.store(1);
  ranks = std::make_unique<Ranks>(build, control, placement, inherited);
  ranks->start();
  follow();
  readCheckpoints(true);
  if (progress) {
    progress->endLine();
    for (const std::string &line : progress->slowRanks().report())
      fmt::print(stderr, "p3d-run: remark: {}\n", line);
  }
  if (checkpoints && !checkpoints->isLastSaved())
    userError("--save={}: the state after the last step was not saved", line.run.saveDirectory);
  if (outputs.gradients)
    userError("--dump-grads={}: in no step the gradient was finite; more --steps let --loss-scale fall further", line.gradientsPath);
  if (outputs.weights)
    outputs.weights->commit();
  if (outputs.trace)
    outputs.trace->write(build);
  if (outputs.verification)
    outputs.verification->judge(progress->lastStep());
}

/// What ranks in several launchers cannot do.
static void checkParts(const Build &build, const CommandLine &line, const Placement &placement) {
  if (placement.isAlone())
    return;
  if (!line.tracePath.empty())
    userError("--trace shows the ranks of one p3d-run: start all ranks here with p3d-run {}", build.directory);
  if (line.verify)
    userError("--verify compares on one machine: start all ranks here with p3d-run {} --verify", build.directory);
}

static int report(const Error &error) {
  fmt::print(stderr, "p3d-run: error: {}\n", error.what());
  if (error.code() == ExitCode::InternalError)
    fmt::print(stderr, "p3d-run: this is a bug of p3dc; please report it "
                       "with the model and the command line\n");
  return int(error.code());
}

/// Runs `body` and prints what it throws.
static int guarded(const std::function<int()> &body) {
  try {
    return body();
  } catch (const Error &error) {
    return report(error);
  } catch (const std::exception &error) {
    fmt::print(stderr, "p3d-run: error: {}\n", error.what());
    return int(ExitCode::InternalError);
  }
}

namespace {
/// How a run ended.
struct Ending {
  ExitCode code = ExitCode::Success;
  LastWord word;
};
} // namespace

static Ending launchOnce(CommandLine &line, const Placement &placement, const Build &build, int signalFd) {
  checkInputs(build, line, placement);
  Outputs outputs;
  if (placement.isRoot())
    outputs = makeOutputs(line, build); // before memory is taken: a full disk shows now
  Run run(line, outputs, build, placement, signalFd);
  try {
    run.run();
  } catch (const Error &error) {
    // The root's message comes before the end of the others, at which mpirun ends all.
    bool isRoot = placement.isRoot();
    if (isRoot)
      report(error);
    LastWord word;
    if (!run.fail(error, word) && !isRoot)
      report(error);
    if (outputs.trace) // what led to the end
      guarded([&] {
        outputs.trace->write(build);
        return 0;
      });
    return {error.code(), word};
  }
  return {};
}

static int launch(const CommandLine &given, const Placement &placement, const Build &build) {
  constexpr int kTries = 3;
  checkParts(build, given, placement);
  checkFlagsApply(given, build);
  int signalFd = makeSignalFd();
  std::string start = given.resume;
  for (int failures = 1;; ++failures) {
    CommandLine line = given;
    line.resume = start;
    if (!start.empty())
      resume(line, build);
    Ending ending = launchOnce(line, placement, build, signalFd);
    if (!given.restarts || ending.code != ExitCode::RankFailure || ending.word.isStopped)
      return int(ending.code);
    if (!ending.word.checkpoint.empty()) {
      start = ending.word.checkpoint;
      failures = 1;
    }
    if (failures == kTries) {
      if (placement.isRoot())
        fmt::print(stderr, "p3d-run: error: {} runs have failed without a new checkpoint; not started again\n", kTries);
      return int(ending.code);
    }
    if (placement.isRoot())
      fmt::print(stderr, "p3d-run: starting again {}\n", start.empty() ? "from the beginning" : "after " + start);
  }
}

static int help() {
  fmt::print("{}", helpText());
  return int(ExitCode::Success);
}

int p3d::launchHere(const std::vector<std::string> &arguments) {
  return guarded([&] {
    CommandLine line = parseCommandLine(arguments);
    if (line.help)
      return help();
    Build build = Build::open(line.directory);
    Placement placement =
        line.ranksPerHost ? placeFrom(getenv, build.worldSize(), line.ranksPerHost) : placeAll(build.worldSize());
    return launch(line, placement, build);
  });
}

int p3d::launchRank(const std::string &directory, const std::vector<std::string> &arguments) {
  return guarded([&] {
    std::vector<std::string> all = arguments;
    all.insert(all.begin(), directory);
    CommandLine line = parseCommandLine(all);
    if (line.help)
      return help();
    if (line.ranksPerHost > 1)
      userError("--ranks-per-host={} is for p3d-run; bin/rank is one rank", line.ranksPerHost);
    Build build = Build::open(line.directory);
    return launch(line, placeFrom(getenv, build.worldSize(), 1), build);
  });
}
