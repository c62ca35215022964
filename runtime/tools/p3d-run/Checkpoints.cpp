#include "runtime/tools/p3d-run/Checkpoints.h"
#include "runtime/Comm/Hosts/Sockets.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Data/WholeFile.h"
#include "runtime/Train/Checkpoint.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace p3d {
namespace {

const std::string kPrefix = "step_";

/// The N of step_N.
std::optional<int64_t> stepOf(const std::string &name) {
  int64_t step = 0;
  if (name.compare(0, kPrefix.size(), kPrefix) != 0)
    return std::nullopt;
  auto [end, failed] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  if (failed != std::errc() || end != name.data() + name.size())
    return std::nullopt;
  return step;
}

/// Whether it is what a run left that was killed: ".step_N.tmp", "latest.PID.tmp".
bool isUnfinished(const std::string &name) {
  static const std::string suffix = ".tmp", latest = "latest.";
  return (name.compare(0, 1 + kPrefix.size(), "." + kPrefix) == 0 || name.compare(0, latest.size(), latest) == 0) && name.size() > suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

/// The header of a file of these tensors, and its size, in memory that takes no more than the header.
int makeLayout(const std::vector<TensorSpec> &tensors) {
  int64_t bytes = 0;
  std::string header = safetensorsHeader(tensors, bytes);
  int fd = memfd_create("layout", MFD_CLOEXEC);
  // unreachable from input: the kernel is out of memory
  if (fd < 0 || ftruncate(fd, off_t(bytes)) != 0 || pwrite(fd, header.data(), header.size(), 0) != ssize_t(header.size()))
    userError("cannot describe checkpoints: {}", std::strerror(errno));
  return fd;
}

} // namespace

Checkpoints::Checkpoints(const CommandLine &line, const Build &build, bool isRoot)
    : options(line.run), build(build), keepLast(line.keepLast), isRoot(isRoot), next(stepAfter(line.run.firstStep - 1)) {
  std::error_code error;
  fs::create_directories(options.saveDirectory, error);
  if (error)
    userError("--save={}: cannot be made: {}", options.saveDirectory, error.message());
  if (access(options.saveDirectory.c_str(), W_OK | X_OK) != 0)
    userError("--save={}: cannot be written: {}", options.saveDirectory, std::strerror(errno));
  for (const fs::directory_entry &entry : fs::directory_iterator(options.saveDirectory))
    if (isRoot && isUnfinished(entry.path().filename()))
      fs::remove_all(entry.path(), error);
  for (size_t of = 0; of < checkpointFiles().size(); ++of) {
    const CheckpointFile &file = checkpointFiles()[of];
    std::vector<TensorFile> shards = cutIntoShards(file.name, wholeTensors(build.distinctPrograms(), file.kinds), options.shardBytes);
    for (const TensorFile &shard : shards)
      savedFiles.push_back({shard.path, of, makeLayout(shard.tensors)});
    if (shards.size() > 1)
      indexes[indexPathOf(file.name)] = indexText(shards);
  }
}

Checkpoints::~Checkpoints() {
  if (thread.joinable())
    thread.join();
  for (const SavedFile &file : savedFiles)
    close(file.layoutFd);
  // What was not completed is of no use.
  std::error_code ignored;
  if (!mark.empty())
    fs::remove(mark, ignored);
  if (isRoot && next <= options.steps)
    fs::remove_all(unfinishedCheckpoint(options.saveDirectory, next), ignored);
}

/// By a name that a later run removes if this one is killed.
static std::string markOf(const std::string &directory, uint64_t run) { return fmt::format("{}/.step_{:016x}.tmp", directory, run); }

void Checkpoints::leaveMark(uint64_t run) {
  mark = markOf(options.saveDirectory, run);
  if (FileDescriptor file(open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)); file.get() < 0)
    userError("{}: cannot be written: {}", mark, std::strerror(errno));
}

void Checkpoints::expectMark(uint64_t run) const {
  if (access(markOf(options.saveDirectory, run).c_str(), F_OK) != 0)
    userError("--save={}: is another directory than on the host of rank 0; name one that all hosts see", options.saveDirectory);
}

int64_t Checkpoints::stepAfter(int64_t step) const {
  for (++step; step < options.steps && !options.savesAfter(step);)
    ++step;
  return step;
}

void Checkpoints::begin(const Control &control) {
  std::string failure;
  for (int rank = 0; rank < control.worldSize(); ++rank) {
    const RankArea &area = control.rank(rank);
    if (area.saved.load(std::memory_order_acquire) < next)
      return;
    if (failure.empty())
      failure = area.saveFailure;
  }
  running = next;
  next = stepAfter(next);
  isDone.store(false);
  thread = std::thread([this, &control, failure] {
    try {
      outcome = complete(control, *running, failure);
      this->failure.clear();
    } catch (const std::exception &error) {
      this->failure = error.what();
    }
    isDone.store(true);
    signal(control.header().checkpoints);
    control.wakeLauncher();
  });
}

Checkpoints::News Checkpoints::end() {
  thread.join();
  News news{outcome, failure.empty()};
  if (news.isSaved)
    lastSaved = fmt::format("{}/{}{}", options.saveDirectory, kPrefix, *running);
  if (!news.isSaved)
    news.text = fmt::format("no checkpoint of step {}: {}", *running, failure);
  running.reset();
  return news;
}

std::vector<Checkpoints::News> Checkpoints::poll(const Control &control, bool waits) {
  std::vector<News> news;
  if (!isRoot)
    return news;
  do {
    if (running && (waits || isDone.load()))
      news.push_back(end());
    if (!running && next <= options.steps)
      begin(control);
  } while (waits && running);
  return news;
}

std::string Checkpoints::complete(const Control &control, int64_t step, const std::string &failure) const {
  std::string unfinished = unfinishedCheckpoint(options.saveDirectory, step), name = kPrefix + std::to_string(step);
  try {
    if (!failure.empty())
      userError("{}", failure);
    CheckpointState state;
    state.step = step;
    state.tokens = step * build.tokensPerStep();
    // Ranks wait with the next one until this is complete; all have the same.
    const SavedProgress &progress = control.rank(0).savedProgress;
    state.updates = progress.updates;
    state.lossScale = options.scalesLoss ? progress.lossScale : 0;
    state.goodSteps = progress.goodSteps;
    state.seed = options.seed;
    state.model = build.any().model;
    state.optimizer = optimizerName(build.optimizer());
    state.data = options.data;
    std::error_code none;
    state.dataBytes = options.data.empty() ? -1 : int64_t(fs::file_size(options.data, none));
    for (const auto &[index, text] : indexes)
      writeWhole(unfinished + "/" + index, text);
    int64_t bytes = completeCheckpoint(unfinished, state);
    giveName(unfinished, name);
    removeOld(step);
    return fmt::format("saved {}/{}, {:.1f} MiB", options.saveDirectory, name, double(bytes) / (1 << 20));
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    throw;
  }
}

void Checkpoints::giveName(const std::string &unfinished, const std::string &name) const {
  std::string path = options.saveDirectory + "/" + name;
  // One of the same step, made before a run was resumed at an earlier one, stays until this one stands in its place.
  bool exchanged = fs::exists(path);
  if (renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, path.c_str(), exchanged ? RENAME_EXCHANGE : 0) != 0)
    userError("{}: cannot be written: {}", path, std::strerror(errno));
  if (exchanged)
    fs::remove_all(unfinished);
  syncDirectory(options.saveDirectory);
  writeWhole(options.saveDirectory + "/latest", name + "\n");
}

std::vector<int64_t> Checkpoints::savedSteps() const {
  std::vector<int64_t> steps;
  for (const fs::directory_entry &entry : fs::directory_iterator(options.saveDirectory))
    if (auto step = stepOf(entry.path().filename()))
      steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

void Checkpoints::removeOld(int64_t step) const {
  if (keepLast <= 0)
    return;
  std::vector<int64_t> steps = savedSteps();
  // Later ones are those of a run that went further before this one was resumed.
  steps.erase(std::upper_bound(steps.begin(), steps.end(), step), steps.end());
  for (size_t i = 0; i + size_t(keepLast) < steps.size(); ++i) {
    std::string name = kPrefix + std::to_string(steps[i]), leaving = options.saveDirectory + "/." + name + ".tmp";
    // No half of it may stand there as a checkpoint.
    if (rename((options.saveDirectory + "/" + name).c_str(), leaving.c_str()) == 0)
      fs::remove_all(leaving);
  }
}

} // namespace p3d
