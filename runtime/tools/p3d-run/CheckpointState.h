// What makes files of tensors a checkpoint: state.json says of which step they are, how it goes on, and the checksum of every part of them.
#pragma once
#include <cstdint>
#include <string>

namespace p3d {

struct CheckpointState {
  int64_t step = 0, tokens = 0; ///< trained on, from the first step
  int64_t updates = 0;          ///< of the optimizer: steps that were not skipped
  double lossScale = 0;         ///< of the next step; 0 where the loss is not scaled
  int64_t goodSteps = 0;        ///< in a row at this scale
  uint64_t seed = 0;
  std::string model, optimizer;
  std::string data;      ///< the name of the file, and
  int64_t dataBytes = 0; ///< its size; -1 without one
};

/// Reads the tensors' files in `directory`, computes their checksums, writes state.json beside them and syncs all. A user error if the disk does not take
/// it. Returns the bytes of all.
int64_t completeCheckpoint(const std::string &directory, const CheckpointState &state);

/// Reads DIRECTORY/state.json and compares every byte of the files with it. A user error names the file, the field or tensor, and the offset.
CheckpointState checkCheckpoint(const std::string &directory);

/// The directory of the checkpoint that `path` means: itself, or the last complete one in it.
std::string findCheckpoint(const std::string &path);

} // namespace p3d
