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

CheckpointWriter::CheckpointWriter(p3d_context &context, const RunOptions &options)
    : context(context), options(options), files(checkpointFiles().size()) {
  std::vector<std::vector<SafetensorsFile>> parts(files.size());
  for (const SavedFile &file : options.savedFiles) {
    parts[file.of].emplace_back(MappedFile(file.layoutFd, "--save"));
    files[file.of].push_back({file.name, parts[file.of].back().header(), {}});
  }
  for (std::vector<SafetensorsFile> &of : parts)
    layouts.emplace_back(std::move(of));
}

void CheckpointWriter::copyState() {
  size_t used = 0;
  for (size_t of = 0; of < layouts.size(); ++of)
    forEachOwned(context.program, context.at, context.device, checkpointFiles()[of].kinds, layouts[of],
                 [&](const TensorView &view, int64_t offset, int64_t bytes) {
                   if (!knowsRanges) {
                     files[of][view.part].ranges.push_back({view.offset + offset, int64_t(used), bytes});
                     copy.resize(used + size_t(bytes));
                   }
                   char *place = copy.data() + used;
                   used += size_t(bytes);
                   return place;
                 });
  knowsRanges = true;
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
  for (const std::vector<File> &parts : files)
    for (const File &file : parts)
      if (context.rank == 0 || !file.ranges.empty())
        writeFile(directory + "/" + file.name, file);
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

void CheckpointWriter::writeFile(const std::string &path, const File &file) const {
  struct Descriptor {
    int fd;
    ~Descriptor() { close(fd); }
  } out{open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)};
  if (out.fd < 0)
    userError("{}: cannot be written: {}", path, std::strerror(errno));
  if (context.rank == 0)
    writeAt(out.fd, file.header.data(), int64_t(file.header.size()), 0, path);
  for (const Range &range : file.ranges)
    writeAt(out.fd, copy.data() + range.offset, range.bytes, range.fileOffset, path);
  if (fdatasync(out.fd) != 0)
    userError("{}: cannot be written: {}", path, std::strerror(errno));
}

} // namespace p3d
