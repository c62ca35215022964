// --trace: what all ranks did when, as Chrome's trace events, which Perfetto shows.
#pragma once
#include "runtime/tools/p3d-run/Build.h"

namespace p3d {

class TraceFile {
public:
  /// Makes a file for each rank beside `path`, without a name. A user error if the directory cannot be written.
  TraceFile(const std::string &path, int ranks);
  ~TraceFile();
  TraceFile(const TraceFile &) = delete;

  /// Of each rank.
  const std::vector<int> &fds() const { return descriptors; }
  /// Writes what the ranks have written so far.
  void write(const Build &build) const;

private:
  std::string path;
  std::vector<int> descriptors;
};

} // namespace p3d
