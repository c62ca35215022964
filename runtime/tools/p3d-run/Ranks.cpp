// Starting, watching and ending processes. A rank is killed by the kernel when
// the launcher dies (PR_SET_PDEATHSIG), so none can be left behind.
#include "runtime/tools/p3d-run/Ranks.h"
#include "runtime/Comm/SharedMemory/Diagnosis.h"
#include "runtime/Cpu/Arena.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace p3d {

static void raiseFileLimit(int ranks) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  rlim_t needed = rlim_t(2 * ranks + 64);
  if (limit.rlim_cur >= needed)
    return;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed)
    userError("{} ranks need {} open files, the limit is {} (ulimit -n)", ranks,
              needed, limit.rlim_max);
  limit.rlim_cur = needed;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Ranks::Ranks(const Build &build, const Control &control,
             const Placement &placement, std::vector<int> fds)
    : build(build), control(control), placement(placement),
      inheritedFds(std::move(fds)),
      processes(size_t(build.worldSize())) {
  raiseFileLimit(placement.rankCount);
  inheritedFds.push_back(control.fd());
  for (int rank = 0; rank < build.worldSize(); ++rank) {
    int &fd = control.header().arenaFds[rank];
    fd = -1;
    // A device's arena is memory of the device; other hosts make those of their ranks.
    if (build.programs[rank]->target != Target::Cpu || !control.shareMemory(rank, placement.firstRank))
      continue;
    fd = createArena(build.programs[rank]->arenaBytes);
    inheritedFds.push_back(fd);
  }
}

Ranks::~Ranks() {
  stopAll();
  for (int rank = 0; rank < count(); ++rank)
    if (int fd = control.header().arenaFds[rank]; fd >= 0)
      close(fd);
}

void Ranks::start() {
  for (int i = 0; i < placement.rankCount; ++i)
    startRank(placement.firstRank + i);
}

bool Ranks::anyRuns() const {
  return std::any_of(processes.begin(), processes.end(),
                     [](const Process &process) { return process.pid > 0; });
}

void Ranks::startRank(int rank) {
  pid_t launcher = getpid();
  pid_t pid = fork();
  // unreachable from input: what limits processes is the machine
  if (pid < 0)
    userError("cannot start rank {}: {}", rank, std::strerror(errno));
  if (pid == 0)
    becomeRank(rank, launcher);
  // glibc 2.36 declares pidfd_open without C linkage.
  int fd = int(syscall(SYS_pidfd_open, pid, 0));
  processes[rank] = {pid, fd};
  // unreachable from input: the limit of files was raised for it before
  if (fd < 0)
    userError("cannot watch rank {}: {}", rank, std::strerror(errno));
}

void Ranks::becomeRank(int rank, pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher)
    _exit(int(ExitCode::RankFailure));
  // Ctrl-C goes to the whole group; the launcher ends the ranks in order.
  std::signal(SIGINT, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int fd : inheritedFds)
    fcntl(fd, F_SETFD, 0);
  std::string fdText = fmt::format("P3D_CONTROL_FD={}", control.fd());
  std::string rankText = fmt::format("P3D_RANK={}", rank);
  // Of several devices each rank takes its own.
  std::string localText = fmt::format(
      "LOCAL_RANK={}", placement.localRank + rank - placement.firstRank);
  // Kernels share out threads themselves; OpenBLAS would start its own.
  std::string blasText = "OPENBLAS_NUM_THREADS=1";
  std::vector<char *> environment = {fdText.data(), rankText.data(),
                                     localText.data(), blasText.data()};
  for (char **entry = environ; *entry; ++entry)
    environment.push_back(*entry);
  environment.push_back(nullptr);
  const std::string &path = build.executables[rank];
  char *arguments[] = {const_cast<char *>(path.c_str()), nullptr};
  execve(path.c_str(), arguments, environment.data());
  control.reportFailure(
      rank, ExitCode::UserError,
      fmt::format("{}: cannot be started: {}", path, std::strerror(errno)));
  _exit(int(ExitCode::UserError));
}

void Ranks::collect(int rank) {
  int status = 0;
  if (waitpid(processes[rank].pid, &status, WNOHANG) <= 0)
    return;
  close(processes[rank].pidFd);
  processes[rank] = {};
  auto activity = Activity(control.rank(rank).activity.load());
  if (status != 0 || activity != Activity::Finished)
    reportDeath(rank, status);
}

void Ranks::reportDeath(int rank, int status) {
  const ControlHeader &header = control.header();
  if (header.failed.load(std::memory_order_acquire) == 2) {
    auto code = ExitCode(header.failureCode);
    // The report of a wait that took too long says itself who and where.
    if (code == ExitCode::RankFailure &&
        std::strncmp(header.failure, "rank ", 5) == 0)
      throw Error(code, header.failure);
    throw Error(code, fmt::format("rank {} gave up {}: {}", header.failedRank,
                                  describePlace(control, header.failedRank),
                                  header.failure));
  }
  std::string how =
      WIFSIGNALED(status)
          ? fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                        strsignal(WTERMSIG(status)))
          : fmt::format("ended by itself with status {}", WEXITSTATUS(status));
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    how += ", as the kernel does when memory runs out";
  throw Error(ExitCode::RankFailure,
              fmt::format("rank {} {}, {}; all ranks are stopped", rank, how,
                          describePlace(control, rank)));
}

void Ranks::stopAll() {
  for (Process &process : processes)
    if (process.pid > 0)
      kill(process.pid, SIGKILL);
  for (Process &process : processes)
    if (process.pid > 0) {
      waitpid(process.pid, nullptr, 0);
      close(process.pidFd);
      process = {};
    }
}

} // namespace p3d
