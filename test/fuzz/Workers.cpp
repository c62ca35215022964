#include "Workers.h"
#include "Generator.h"
#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace p3d;
using namespace p3d::fuzz;

namespace {
/// A case takes a tenth of a second; one that takes this many hangs.
constexpr unsigned kDeadlineSeconds = 60;
/// A process is replaced after so many cases: contexts never forget a type.
constexpr uint64_t kCasesPerProcess = 200;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Records go through a pipe as lines of fields: "case SEED OUTCOME MESSAGE", "op NAME", "begin SEED".
void writeLine(int pipe, std::string line) {
  for (char &c : line)
    if (c == '\n')
      c = ' ';
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    ssize_t wrote = write(pipe, line.data() + done, line.size() - done);
    if (wrote <= 0)
      _exit(1);
    done += wrote;
  }
}

[[noreturn]] void runChild(int pipe, uint64_t first, uint64_t end, uint64_t step) {
  auto context = makeContext();
  llvm::StringSet<> seen;
  for (uint64_t seed = first; seed < end; seed += step) {
    writeLine(pipe, "begin " + std::to_string(seed));
    alarm(kDeadlineSeconds);
    Verdict verdict = runCase(*context, textOf(seed), "seed" + std::to_string(seed), &seen);
    alarm(0);
    writeLine(pipe, "case " + std::to_string(seed) + " " + std::to_string(int(verdict.outcome)) + " " + verdict.message);
  }
  for (const auto &op : seen)
    writeLine(pipe, "op " + op.getKey().str());
  _exit(0);
}

std::string describeDeath(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? "did not end in " + std::to_string(kDeadlineSeconds) + " s" : std::string("died of ") + strsignal(WTERMSIG(status));
  return "exited with " + std::to_string(WEXITSTATUS(status));
}

/// A process that works on seeds next, next + step ...
struct Worker {
  uint64_t next, end, step;
  int pipe = -1;
  pid_t process = -1;
  std::string text;
  std::optional<uint64_t> running;

  void start() {
    int ends[2];
    if (::pipe(ends) != 0)
      abort();
    uint64_t stop = std::min(end, next + step * kCasesPerProcess);
    process = fork();
    if (process == 0) {
      close(ends[0]);
      runChild(ends[1], next, stop, step);
    }
    close(ends[1]);
    pipe = ends[0];
  }

  /// Reads what there is; false at the end.
  bool read(llvm::StringSet<> &seen, llvm::function_ref<void(const Report &)> take) {
    char buffer[4096];
    ssize_t got = ::read(pipe, buffer, sizeof buffer);
    if (got <= 0)
      return false;
    text.append(buffer, got);
    for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      takeLine(llvm::StringRef(text).take_front(end), seen, take);
    return true;
  }

  void takeLine(llvm::StringRef line, llvm::StringSet<> &seen, llvm::function_ref<void(const Report &)> take) {
    auto [kind, rest] = line.split(' ');
    if (kind == "op") {
      seen.insert(rest);
      return;
    }
    auto [number, fields] = rest.split(' ');
    uint64_t seed = std::stoull(number.str());
    if (kind == "begin") {
      running = seed;
      next = seed + step;
      return;
    }
    auto [outcome, message] = fields.split(' ');
    running.reset();
    take({seed, false, {Outcome(std::stoi(outcome.str())), message.str()}});
  }

  /// The process is gone; reports the case that killed it.
  void finish(llvm::function_ref<void(const Report &)> take) {
    int status = 0;
    waitpid(process, &status, 0);
    close(pipe);
    if (running)
      take({*running, true, {Outcome::Broken, describeDeath(status)}});
    running.reset();
    text.clear();
    pipe = -1;
  }
};
} // namespace

std::string p3d::fuzz::textOf(uint64_t seed) {
  auto context = makeContext();
  auto module = generate(*context, seed);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

llvm::StringSet<> p3d::fuzz::runAll(const Work &work, llvm::function_ref<void(const Report &)> take) {
  llvm::StringSet<> seen;
  std::vector<Worker> workers;
  for (unsigned i = 0; i < work.jobs; ++i)
    workers.push_back({work.firstSeed + i, work.firstSeed + work.count, work.jobs});
  double end = work.minutes > 0 ? now() + 60 * work.minutes : 0;
  while (true) {
    std::vector<pollfd> open;
    std::vector<Worker *> owners;
    for (Worker &worker : workers) {
      if (worker.pipe < 0 && worker.next < worker.end && (end == 0 || now() < end))
        worker.start();
      if (worker.pipe < 0)
        continue;
      open.push_back({worker.pipe, POLLIN, 0});
      owners.push_back(&worker);
    }
    if (open.empty())
      return seen;
    poll(open.data(), open.size(), -1);
    for (size_t i = 0; i < open.size(); ++i)
      if (open[i].revents && !owners[i]->read(seen, take))
        owners[i]->finish(take);
  }
}

Report p3d::fuzz::runAlone(llvm::StringRef text, llvm::StringRef name) {
  int ends[2];
  if (pipe(ends) != 0)
    abort();
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    alarm(kDeadlineSeconds);
    Verdict verdict = runCase(*makeContext(), text, name);
    writeLine(ends[1], std::to_string(int(verdict.outcome)) + verdict.message);
    _exit(0);
  }
  close(ends[1]);
  std::string answer;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    answer.append(buffer, got);
  close(ends[0]);
  int status = 0;
  waitpid(process, &status, 0);
  if (answer.empty())
    return {0, true, {Outcome::Broken, describeDeath(status)}};
  return {0, false, {Outcome(answer[0] - '0'), llvm::StringRef(answer).drop_front().rtrim().str()}};
}
