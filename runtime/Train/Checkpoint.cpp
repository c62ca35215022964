#include "runtime/Train/Checkpoint.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Context.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace p3d {

const std::vector<CheckpointFile> &checkpointFiles() {
  static const std::vector<CheckpointFile> files = {
      {"params.safetensors", {&parameterTensors}},
      {"optimizer.safetensors", {&firstMoments, &secondMoments, &masterTensors}}};
  return files;
}

std::string unfinishedCheckpoint(const std::string &directory, int64_t step) {
  return fmt::format("{}/.step_{}.tmp", directory, step);
}

CheckpointWriter::CheckpointWriter(p3d_context &context, const RunOptions &options) : context(context), options(options) {
  for (int fd : options.saveLayoutFds)
    layouts.emplace_back(MappedFile(fd, "--save"));
}

void CheckpointWriter::copyState() {
  bool isKnown = !ranges.empty();
  size_t next = 0, used = 0;
  for (size_t file = 0; file < layouts.size(); ++file)
    forEachOwned(context.program, context.at, context.device, checkpointFiles()[file].kinds, layouts[file],
                 [&](const TensorView &view, int64_t offset, int64_t bytes) {
                   if (!isKnown) {
                     ranges.push_back({file, view.offset + offset, int64_t(used), bytes});
                     copy.resize(std::max(copy.size(), used + size_t(bytes)));
                     used += size_t(bytes);
                   }
                   return copy.data() + ranges[next++].offset;
                 });
}

CheckpointWriter::~CheckpointWriter() {
  if (thread.joinable())
    thread.join();
}

void CheckpointWriter::awaitLauncher() {
  RankArea &area = context.area();
  std::atomic<uint32_t> &done = context.control.header().checkpoints;
  // A disk has no deadline.
  area.activity.store(uint32_t(Activity::AwaitingLauncher));
  waitUntil(done, -1, [&] { return done.load(std::memory_order_acquire) >= begun; });
  area.activity.store(uint32_t(Activity::Running));
  if (thread.joinable())
    thread.join();
}

void CheckpointWriter::save(int64_t step, const SavedProgress &progress) {
  awaitLauncher();
  ++begun;
  copyState();
  context.area().savedProgress = progress;
  thread = std::thread([this, step] {
    RankArea &area = context.area();
    area.saveFailure[0] = 0;
    try {
      write(step);
    } catch (const Error &error) {
      setText(area.saveFailure, error.what());
    }
    area.saved.store(step, std::memory_order_release);
    context.control.wakeLauncher();
  });
}

void CheckpointWriter::write(int64_t step) const {
  std::string directory = unfinishedCheckpoint(options.saveDirectory, step);
  // All ranks make it, and the files: whoever comes first.
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
    userError("{}: cannot be made: {}", directory, std::strerror(errno));
  for (size_t file = 0; file < layouts.size(); ++file)
    writeFile(directory + "/" + checkpointFiles()[file].name, file);
}

/// All of `bytes`, at `offset`.
static void writeAt(int fd, const char *data, int64_t bytes, int64_t offset, const std::string &path) {
  while (bytes > 0) {
    ssize_t written = pwrite(fd, data, size_t(bytes), off_t(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      userError("{}: cannot be written: {}", path, std::strerror(written < 0 ? errno : ENOSPC));
    data += written;
    offset += written;
    bytes -= written;
  }
}

void CheckpointWriter::writeFile(const std::string &path, size_t file) const {
  struct Descriptor {
    int fd;
    ~Descriptor() { close(fd); }
  } out{open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)};
  if (out.fd < 0)
    userError("{}: cannot be written: {}", path, std::strerror(errno));
  const SafetensorsFile &layout = layouts[file];
  if (context.rank == 0)
    writeAt(out.fd, layout.header().data(), int64_t(layout.header().size()), 0, path);
  for (const Range &range : ranges)
    if (range.file == file)
      writeAt(out.fd, copy.data() + range.offset, range.bytes, range.fileOffset, path);
  if (fdatasync(out.fd) != 0)
    userError("{}: cannot be written: {}", path, std::strerror(errno));
}

} // namespace p3d
