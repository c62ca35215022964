// The launcher's part of checkpoints: when all ranks have written the state of a step, a thread gives it its checksums and its name, and removes old ones.
// At every moment `latest` names a checkpoint that is whole.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/tools/p3d-run/CheckpointState.h"
#include "runtime/tools/p3d-run/Flags.h"
#include "runtime/tools/p3d-run/Build.h"
#include <optional>
#include <thread>

namespace p3d {

class Checkpoints {
public:
  /// Makes the directory; the root's, which alone completes checkpoints, also removes what an earlier run did not complete.
  Checkpoints(const CommandLine &line, const Build &build, bool isRoot);
  ~Checkpoints();
  Checkpoints(const Checkpoints &) = delete;

  /// For the ranks: RunOptions::savedFiles.
  const std::vector<SavedFile> &files() const { return savedFiles; }

  /// For other launchers: the root leaves a mark in the directory until its end, and the others look for it.
  void leaveMark(uint64_t run);
  void expectMark(uint64_t run) const;

  struct News {
    std::string text;
    bool isSaved;
  };
  /// Completes what all ranks have written, in the background, and says what came of it. With `waits`, of all that they have written.
  std::vector<News> poll(const Control &control, bool waits);

  /// The directory of the last one that this run has saved, or empty.
  const std::string &last() const { return lastSaved; }
  /// Whether the last that was completed could be saved.
  bool isLastSaved() const { return failure.empty(); }

private:
  void begin(const Control &control);
  News end();
  std::string complete(const Control &control, int64_t step, const std::string &failure) const;
  void giveName(const std::string &unfinished, const std::string &name) const;
  void removeOld(int64_t step) const;
  std::vector<int64_t> savedSteps() const;
  int64_t stepAfter(int64_t step) const;

  const RunOptions &options;
  const Build &build;
  int64_t keepLast;
  bool isRoot;
  std::string mark;
  std::vector<SavedFile> savedFiles;
  std::map<std::string, std::string> indexes; ///< of what is several files: names and texts
  int64_t next; ///< the step that is saved next
  std::optional<int64_t> running;
  std::atomic<bool> isDone{false};
  std::string outcome, failure; ///< of the thread; empty failure: it was saved
  std::string lastSaved;
  std::thread thread;
};

} // namespace p3d
