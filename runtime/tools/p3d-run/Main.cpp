// p3d-run: checks the user's files against the programs, starts the ranks,
// follows them to the end.
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/DType.h"
#include "runtime/Data/Batch.h"
#include "runtime/Train/Parameters.h"
#include "runtime/tools/p3d-run/Flags.h"
#include "runtime/tools/p3d-run/OutputFile.h"
#include "runtime/tools/p3d-run/Progress.h"
#include "runtime/tools/p3d-run/Ranks.h"
#include "runtime/tools/p3d-run/Verify.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

using namespace p3d;

/// Refuses arenas that this machine cannot hold: better than being killed when
/// the memory runs out.
static void checkMemory(const Build &build) {
  int64_t needed = 0, available = 0;
  for (const Program *program : build.programs)
    if (program->target == Target::Cpu)
      needed += program->arenaBytes;
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  int64_t kilobytes;
  while (file >> name >> kilobytes && std::getline(file, unit))
    if (name == "MemAvailable:" || name == "SwapFree:")
      available += kilobytes * 1024;
  if (available > 0 && needed > available)
    userError("the {} ranks need {:.2f} GiB of memory, {:.2f} GiB are "
              "available here",
              build.worldSize(), double(needed) / (1 << 30),
              double(available) / (1 << 30));
}

static void printInitialisation(const Build &build) {
  std::map<std::string, std::string> lines;
  for (const Program *program : build.distinctPrograms())
    for (const Param &param : program->params) {
      const char *kind = param.init.kind == InitKind::Zeros ? "zeros" : "ones";
      lines[param.name] =
          param.init.kind == InitKind::Normal
              ? fmt::format("normal, std {:.6g}", param.init.std)
              : kind;
      if (!isStored(param) || param.init.kind == InitKind::None)
        lines.erase(param.name);
    }
  for (const auto &[name, text] : lines)
    fmt::print(stderr, "initialise {}: {}\n", name, text);
}

/// Everything that can be found wrong with the input before a rank starts.
static void checkInputs(const Build &build, const CommandLine &line) {
  checkFlagsApply(line, build.optimizer(), build.any().target);
  checkMemory(build);
  std::unique_ptr<SafetensorsFile> params;
  if (!line.run.params.empty())
    params = std::make_unique<SafetensorsFile>(line.run.params);
  std::unique_ptr<BatchSource> batches = openBatchSource(line.run.data);
  for (const Program *program : build.distinctPrograms()) {
    batches->check(*program);
    if (params)
      checkParameters(*program, *params);
  }
  if (!params)
    printInitialisation(build);
}

/// Waits for steps, ends of ranks and signals until all ranks have finished.
static void follow(Ranks &ranks, Progress &progress, int eventFd, int signalFd,
                   std::unique_ptr<OutputFile> &gradients) {
  while (true) {
    std::vector<pollfd> watched = {{eventFd, POLLIN, 0}, {signalFd, POLLIN, 0}};
    std::vector<int> owners;
    for (int rank = 0; rank < ranks.count(); ++rank)
      if (ranks.isRunning(rank)) {
        watched.push_back({ranks.pidFd(rank), POLLIN, 0});
        owners.push_back(rank);
      }
    if (owners.empty())
      break;
    // unreachable from input: poll fails for want of kernel memory only
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR)
      userError("cannot wait for the ranks: {}", std::strerror(errno));
    uint64_t events;
    if (watched[0].revents && read(eventFd, &events, sizeof(events)) > 0)
      progress.readSteps();
    signalfd_siginfo info;
    if (watched[1].revents && read(signalFd, &info, sizeof(info)) > 0)
      throw Error(ExitCode::RankFailure,
                  fmt::format("stopped by signal {} ({}) after step {}",
                              info.ssi_signo, strsignal(int(info.ssi_signo)),
                              progress.stepsReported()));
    if (gradients && progress.stepsReported() >= 1) {
      gradients->commit();
      gradients.reset();
    }
    for (size_t i = 0; i < owners.size(); ++i)
      if (watched[i + 2].revents)
        ranks.collect(owners[i]);
  }
  progress.readSteps();
}

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

static void setOptions(const Control &control, const RunOptions &options,
                       int eventFd) {
  ControlHeader &header = control.header();
  std::string text;
  try {
    text = options.toJson();
  } catch (const nlohmann::json::exception &) {
    userError("the names of files have to be UTF-8: {} {}", options.params,
              options.data);
  }
  if (text.size() > sizeof(header.options))
    internalError("the options take {} bytes", text.size());
  std::memcpy(header.options, text.data(), text.size());
  header.optionsBytes = int64_t(text.size());
  header.eventFd = eventFd;
}

static void run(CommandLine line) {
  Build build = Build::open(line.directory);
  checkInputs(build, line);
  int signalFd = makeSignalFd();
  int eventFd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::vector<int> inherited = {eventFd};
  std::unique_ptr<OutputFile> weights, gradients;
  if (!line.exportPath.empty()) {
    weights = std::make_unique<OutputFile>(
        line.exportPath, exportedTensors(build.distinctPrograms()));
    inherited.push_back(line.run.exportFd = weights->fd());
  }
  if (!line.gradientsPath.empty()) {
    gradients = std::make_unique<OutputFile>(
        line.gradientsPath, gradientTensors(build.distinctPrograms()));
    inherited.push_back(line.run.gradientsFd = gradients->fd());
  }
  std::unique_ptr<Verification> verification;
  if (line.verify) {
    verification = std::make_unique<Verification>(build, line.run);
    for (int fd : verification->fds())
      inherited.push_back(fd);
  }
  Control control = Control::create(build.worldSize());
  setOptions(control, line.run, eventFd);
  Progress progress(build, control, line.run.steps, line.log);
  Ranks ranks(build, control, inherited);
  ranks.start();
  follow(ranks, progress, eventFd, signalFd, gradients);
  if (gradients)
    gradients->commit();
  if (weights)
    weights->commit();
  if (verification)
    verification->judge(progress.lastStep());
}

int main(int argc, char **argv) {
  try {
    CommandLine line =
        parseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
    if (line.help) {
      fmt::print("{}", helpText());
      return int(ExitCode::Success);
    }
    run(std::move(line));
    return int(ExitCode::Success);
  } catch (const Error &error) {
    fmt::print(stderr, "p3d-run: error: {}\n", error.what());
    if (error.code() == ExitCode::InternalError)
      fmt::print(stderr, "p3d-run: this is a bug of p3dc; please report it "
                         "with the model and the command line\n");
    return int(error.code());
  } catch (const std::exception &error) {
    fmt::print(stderr, "p3d-run: error: {}\n", error.what());
    return int(ExitCode::InternalError);
  }
}
