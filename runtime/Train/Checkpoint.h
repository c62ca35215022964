// Checkpoints as the ranks write them: each its own elements of whole tensors, while training goes on. The launcher makes a checkpoint of what they wrote
// (runtime/tools/p3d-run/Checkpoints.h).
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/Train/Parameters.h"
#include <exception>
#include <thread>

struct p3d_context;

namespace p3d {

/// The files of a checkpoint, and what they hold; a large one is several and an index.
struct CheckpointFile {
  const char *name;
  TensorKinds kinds;
};
const std::vector<CheckpointFile> &checkpointFiles();

/// Where the files of `step` stand until the checkpoint is complete.
std::string unfinishedCheckpoint(const std::string &directory, int64_t step);

class CheckpointWriter {
public:
  CheckpointWriter(p3d_context &context, const RunOptions &options);
  /// Waits for what is being written.
  ~CheckpointWriter();

  /// Copies what this rank owns of the state after `step`, for a thread to write; waits first until the checkpoint before is complete. A failure is told to
  /// the launcher, and training goes on.
  void save(int64_t step, const SavedProgress &progress);

private:
  struct Range {
    int64_t fileOffset, offset, bytes; ///< in the file and in `copy`
  };
  /// A file of the checkpoint.
  struct File {
    std::string name;
    std::string_view header;
    std::vector<Range> ranges; ///< that this rank owns
  };

  void copyState();
  void write(int64_t step) const;
  void writeFile(const std::string &path, const File &file) const;
  void awaitLauncher();

  p3d_context &context;
  const RunOptions &options;
  std::vector<SafetensorsFile> layouts;  ///< of checkpointFiles()
  std::vector<std::vector<File>> files;  ///< that each of them is
  bool knowsRanges = false;
  std::vector<char> copy;
  uint32_t begun = 0;
  std::thread thread;
};

} // namespace p3d
